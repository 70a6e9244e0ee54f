/** Says which quota refuses a change, and how much it has left, to those who may know it. */
import { containsAccess, includesPath } from '../../auth/access.ts'
import { type Grant, isUnrestricted } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import type { QuotaRefusal } from '../../db/quotas/changes.ts'
import { findQuotaRules, type QuotaRule, type QuotaSubject } from '../../db/quotas/rules.ts'
import { AppError } from '../../errors.ts'

/** Returns whether a viewer may see the sums of a quota: those of their own, and of folders of which they may read everything. */
export function seesQuota(viewer: Viewer, rule: QuotaSubject): boolean {
  if (viewer.kind === 'SHARE') return false
  if (rule.userId === null) return includesPath(viewer.access, rule.providerId, rule.path)
  if (isUnrestricted(viewer)) return true
  // A restricted key learns nothing about what its member has elsewhere.
  return rule.userId === viewer.member.userId && containsAccess(viewer.access, viewer.member.access)
}

export async function quotaExceeded(
  db: Database,
  { viewer }: Grant,
  refusals: readonly QuotaRefusal[],
): Promise<AppError> {
  const rules = await findQuotaRules(
    db,
    refusals.map(({ ruleId }) => ruleId),
  )
  const visible = rules.flatMap(rule => {
    const refusal = refusals.find(({ ruleId }) => ruleId === rule.id)
    return refusal && seesQuota(viewer, rule) ? { rule, ...refusal } : []
  })
  const [first] = visible
  if (!first) return new AppError('QUOTA_EXCEEDED', 'A quota leaves no room for this: ask an administrator.')
  const { rule, leftBytes, leftFiles } = first
  const left = [leftBytes === null ? '' : `${leftBytes} bytes`, leftFiles === null ? '' : `${leftFiles} files`]
  return new AppError(
    'QUOTA_EXCEEDED',
    `${nameOf(rule)} leaves room for ${left.filter(text => text !== '').join(' and ')}: delete something, or ask an administrator for more.`,
    { facts: { leftBytes, leftFiles } },
  )
}

function nameOf({ path }: Pick<QuotaRule, 'path'>): string {
  if (path === null) return 'Your quota'
  return path === '' ? 'The quota of the storage' : `The quota of the folder "${path}"`
}

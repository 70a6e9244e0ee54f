import { formatPath, parsePath } from '../../auth/path.ts'
import { maxQuotasPage, type QuotaRule } from '../../services/quotas/index.ts'
import {
  type ApplyContext,
  change,
  create,
  drift,
  idOfMember,
  idOfProvider,
  isNewAccount,
  memberNamed,
  type Step,
} from './context.ts'
import type { DeclaredQuota } from './declaration.ts'

/** Compares the quotas by what they are of. Those that are not declared stay. */
export async function planQuotas(context: ApplyContext): Promise<Step[]> {
  const { services, viewer, declaration } = context
  const declared = declaration.quotas
  if (!declared) return []
  const found = await allQuotas(context)
  const known = new Set<string>()
  const steps = declared.flatMap(quota => {
    const { bytes = null, files = null } = quota
    const subject = subjectOf(quota)
    const present = found.find(rule => isOf(context, rule, quota))
    if (present) known.add(present.id)
    if (quota.member !== undefined && !memberNamed(context, quota.member) && !isNewAccount(context, quota.member)) {
      return drift(subject, 'has no account')
    }
    const before = present ?? { bytes: null, files: null }
    const limits = [
      ...(before.bytes === bytes ? [] : [`bytes -> ${bytes ?? 'no limit'}`]),
      ...(before.files === files ? [] : [`files -> ${files ?? 'no limit'}`]),
    ]
    const run = () => services.quotas.set(viewer, { ...locationOf(context, quota), bytes, files })
    if (!present) return create(subject, limits.join(', '), run)
    return limits.length > 0 ? change(subject, limits.join(', '), run) : []
  })
  const others = found.filter(({ id }) => !known.has(id))
  return [...steps, ...others.map(rule => drift(nameOf(context, rule), 'is not declared'))]
}

async function allQuotas({ services, viewer }: ApplyContext): Promise<QuotaRule[]> {
  const rules: QuotaRule[] = []
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof services.quotas.list>> = await services.quotas.list(viewer, {
      providerId: null,
      first: maxQuotasPage,
      after,
    })
    rules.push(...page.items.map(({ rule }) => rule))
    if (!page.hasNext) return rules
    after = page.endCursor
  }
}

function isOf(context: ApplyContext, rule: QuotaRule, { provider, path, member }: DeclaredQuota): boolean {
  if (rule.userId !== null) return member !== undefined && memberNamed(context, member)?.member.userId === rule.userId
  return (
    provider !== undefined &&
    idOfProvider(context, provider) === rule.providerId &&
    parsePath(path ?? '/') === rule.path
  )
}

function locationOf(context: ApplyContext, { provider, path, member }: DeclaredQuota) {
  if (provider === undefined) return { userId: idOfMember(context, member ?? '') }
  return { providerId: idOfProvider(context, provider), path: path ?? '/' }
}

function subjectOf({ provider, path = '/', member }: DeclaredQuota): string {
  return provider === undefined ? `quota of ${member}` : `quota of "${provider}:${path}"`
}

function nameOf({ providers, members }: ApplyContext, rule: QuotaRule): string {
  if (rule.userId === null) {
    const provider = providers.find(({ id }) => id === rule.providerId)
    return subjectOf({ provider: provider?.name ?? rule.providerId, path: formatPath(rule.path) })
  }
  const listed = members.find(({ member }) => member.userId === rule.userId)?.member
  return subjectOf({ member: listed ? (listed.isService ? (listed.name ?? listed.email) : listed.email) : rule.userId })
}

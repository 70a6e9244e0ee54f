/**
 * Quotas: administrators limit the bytes and files in a storage or a folder, and those that a member is charged for. `guard.ts` reserves
 * and counts, `count.ts` counts what existed before, and `outcomes.ts` settles what was interrupted.
 */
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { parsePath, root, type StoragePath } from '../../auth/path.ts'
import { requireScope, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { batched } from '../../db/lookups.ts'
import { findMember } from '../../db/members.ts'
import { findProviders } from '../../db/providers.ts'
import {
  batchedQuotas,
  deleteQuota,
  findMemberQuotas,
  insertQuota,
  listQuotas,
  lockQuotas,
  type QuotaRule,
  type QuotaSubject,
  updateQuota,
} from '../../db/quotas/rules.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import { parsePageSize } from '../input.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import { startCounting } from './count.ts'
import type { QuotaKeeper } from './guard.ts'
import { startOutcomes } from './outcomes.ts'
import { seesQuota } from './refusal.ts'

export type { QuotaRule } from '../../db/quotas/rules.ts'

/** The maximum number of quotas of a workspace. Each change of a file looks at all of them. */
const maxQuotas = 1000
export const maxQuotasPage = 100

export interface QuotaInput {
  providerId?: string | null | undefined
  path?: string | null | undefined
  userId?: string | null | undefined
  /** Null is no limit. Without any limit, the quota is removed. */
  bytes?: number | null | undefined
  files?: number | null | undefined
}

export function createQuotas(options: {
  db: Database
  storage: Storage
  audit: Audit
  keeper: QuotaKeeper
  /** Whether this server counts, and settles what was interrupted. */
  isWorking: boolean
  onError: (error: unknown) => void
}) {
  const { db, storage, audit, keeper, isWorking, onError } = options
  const nextId = timeOrderedIds()
  const counting = isWorking ? startCounting({ db, storage, onError }) : null
  const outcomes = isWorking ? startOutcomes({ db, storage, onCount: () => counting?.wake(), onError }) : null
  keeper.onDoubtfulChange(() => outcomes?.wake())

  const ofMembers = batched(async (keys: readonly string[]) => {
    const byWorkspace = Map.groupBy(
      keys.map(key => key.split(' ') as [string, string]),
      ([workspaceId]) => workspaceId,
    )
    const found = await Promise.all(
      Array.from(byWorkspace, ([workspaceId, pairs]) =>
        findMemberQuotas(
          db,
          workspaceId,
          pairs.map(([, userId]) => userId),
        ),
      ),
    )
    return new Map(found.flat().map(rule => [`${rule.workspaceId} ${rule.userId}`, rule]))
  })

  const quotasAround = batchedQuotas(db)

  /** Returns the quota of a folder itself; null if it has none, or if the viewer may not see it. */
  async function quotaAt(viewer: Viewer, providerId: string, path: StoragePath): Promise<QuotaRule | null> {
    const rule = (await quotasAround(providerId, path)).find(rule => rule.path === path)
    return rule && seesQuota(viewer, rule) ? rule : null
  }

  /** @throws INVALID_INPUT, INVALID_PATH, NOT_FOUND */
  async function parseSubject(workspaceId: string, { providerId, path, userId }: QuotaInput): Promise<QuotaSubject> {
    if ((userId == null) === (providerId == null) || (userId != null && path != null)) {
      throw new AppError('INVALID_INPUT', 'Give either "providerId", with "path" for a folder, or "userId".')
    }
    if (providerId != null) {
      const parsed = parsePath(path ?? '/')
      const [provider] = isId(providerId) ? await findProviders(db, [providerId]) : []
      if (provider?.workspaceId !== workspaceId) throw new AppError('NOT_FOUND', 'There is no such provider.')
      return { providerId, path: parsed, userId: null }
    }
    const member = isId(userId ?? '') ? await findMember(db, workspaceId, userId ?? '') : null
    if (!member) throw new AppError('NOT_FOUND', 'There is no such member.')
    return { providerId: null, path: null, userId: member.userId }
  }

  return {
    /**
     * Sets the limits of a storage, a folder or a member. When it returns, every process knows that there is a quota.
     * @returns the rule; for one that was removed, as it was, without limits
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, INVALID_PATH, NOT_FOUND
     */
    async set(viewer: Viewer | null, input: QuotaInput): Promise<QuotaRule> {
      const { providerId, path, userId } = input
      const facts = {
        ...(providerId != null && { location: { providerId, path: path ?? '/' } }),
        ...(userId != null && { subject: { kind: 'MEMBER' as const, id: userId } }),
      }
      const rule = await audit.recorded(viewer, 'QUOTA_SET', facts, async recording => {
        const { workspaceId } = requireWorkspaceAdmin(viewer).member
        const limits = { bytes: parseLimit('bytes', input.bytes), files: parseLimit('files', input.files) }
        const subject = await parseSubject(workspaceId, input)
        recording.add({ details: { ...limits } })
        return recording.commit(async change => {
          const count = await lockQuotas(change, workspaceId)
          if (limits.bytes === null && limits.files === null) {
            const removed = await deleteQuota(change, workspaceId, subject)
            if (!removed) throw new AppError('NOT_FOUND', 'There is no such quota.')
            return { ...removed, ...limits }
          }
          const updated = await updateQuota(change, workspaceId, subject, limits)
          if (updated) return updated
          if (count >= maxQuotas) throw tooManyQuotas()
          return insertQuota(change, { id: nextId(new Date()), workspaceId, subject, ...limits })
        })
      })
      counting?.wake()
      return rule
    },

    /** Lists the quotas that the viewer may see, the newest first. @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR */
    async list(
      viewer: Viewer | null,
      { providerId, first, after }: { providerId: string | null; first: number; after: string | null | undefined },
    ) {
      const present = requireScope(viewer, 'read')
      const limit = parsePageSize(first, maxQuotasPage)
      const of = { workspaceId: present.member.workspaceId, providerId }
      if (providerId !== null && !isId(providerId)) return { items: [], hasNext: false, endCursor: null }
      const page = await visiblePage(
        each => listQuotas(db, of, each),
        rule => seesQuota(present, rule),
        { limit, after },
      )
      const items = page.rows.map(rule => ({ rule, cursor: encodeIdCursor(rule.id) }))
      return { items, hasNext: page.hasNext, endCursor: page.endCursor }
    },

    /** Returns the quota of a folder itself, or null if it has none. @throws as `authorize` */
    async ofFolder(viewer: Viewer | null, location: Asked<typeof needs.read>): Promise<QuotaRule | null> {
      const [{ providerId, path, viewer: present }] = authorize(viewer, needs.read, location)
      return quotaAt(present, providerId, path)
    },

    /** Returns the quota of a whole storage; null if it has none, or if the viewer may access only a part of it. */
    async ofProvider(viewer: Viewer | null, providerId: string): Promise<QuotaRule | null> {
      return quotaAt(requireScope(viewer, 'read'), providerId, root)
    },

    /** Returns the quota of a member; null if they have none, or if the viewer may not see it. */
    async ofMember(viewer: Viewer | null, userId: string): Promise<QuotaRule | null> {
      const present = requireViewer(viewer)
      const subject = { providerId: null, path: null, userId }
      if (present.lacksSecondFactor || !seesQuota(present, subject)) return null
      return ofMembers(`${present.member.workspaceId} ${userId}`)
    },

    /**
     * Returns the space that the tightest visible quota leaves at a path: of its folders, and of the viewer. Null if none applies.
     * @throws as `authorize`
     */
    async spaceAt(
      viewer: Viewer | null,
      location: Asked<typeof needs.read>,
    ): Promise<{ used: number; available: number } | null> {
      const [{ providerId, path, viewer: present }] = authorize(viewer, needs.read, location)
      if (!(await keeper.guard.applies(providerId))) return null
      const [around, own] = await Promise.all([
        quotasAround(providerId, path),
        ofMembers(`${present.member.workspaceId} ${present.member.userId}`),
      ])
      const spaces = [...around, ...(own ? [own] : [])].flatMap(rule =>
        rule.bytes === null || !seesQuota(present, rule)
          ? []
          : { used: rule.usedBytes, available: Math.max(0, rule.bytes - rule.usedBytes - rule.reservedBytes) },
      )
      return spaces.toSorted((a, b) => a.available - b.available)[0] ?? null
    },

    /** Ends the work in the background. */
    async stop(): Promise<void> {
      await Promise.all([counting?.stop(), outcomes?.stop()])
    },
  }
}

/** @throws INVALID_INPUT */
function parseLimit(name: string, limit: number | null | undefined): number | null {
  if (limit == null) return null
  if (Number.isSafeInteger(limit) && limit >= 0) return limit
  throw new AppError('INVALID_INPUT', `"${name}" is a whole number from 0.`)
}

function tooManyQuotas(): AppError {
  return new AppError('INVALID_INPUT', `A workspace can have at most ${maxQuotas} quotas.`)
}

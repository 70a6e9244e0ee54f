/**
 * Holds: until a date or until an owner releases them, nothing at a path or below it is changed, moved or deleted through Stowage. The
 * guard of changes makes them bind every endpoint and job.
 */

import { includesPath } from '../../auth/access.ts'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import { requireOwner, requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { countActiveHolds, type EntryHold, insertHold, listHolds, lockHold, releaseHold } from '../../db/entry-holds.ts'
import { lockProvider } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import { type AskedToRead, locationOf } from '../files/entry.ts'
import { parseFuture, parsePageSize } from '../input.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import type { EntryGuard } from './change-guard.ts'

export type { EntryHold } from '../../db/entry-holds.ts'

/** The maximum number of active holds of a provider. */
const maxHolds = 10_000
export const maxHoldsPage = 100
/** UTF-16 code units. */
export const maxHoldReason = 500
/** Years. */
const maxHoldTime = 100

export type NewHold = Asked<typeof needs.hold> & { reason: string; until: Date | null }

export function createEntryHolds(options: { db: Database; storage: Storage; audit: Audit; guard: EntryGuard }) {
  const { db, storage, audit, guard } = options
  const nextId = timeOrderedIds()

  const isVisible = (viewer: Viewer, hold: EntryHold) => includesPath(viewer.access, hold.providerId, hold.path)

  return {
    /**
     * Returns the holds that prevent changes of an entry, the one that lasts longest first.
     * @throws as `Files.stat`
     */
    async covering(viewer: Viewer | null, location: AskedToRead): Promise<EntryHold[]> {
      const [{ providerId, path }] = authorize(viewer, needs.read, location)
      return (await guard.holdsOf(providerId, path)).toSorted((a, b) => endOf(b) - endOf(a))
    },

    /**
     * Creates a hold. When it returns, no process begins a change there, and changes that are running end within a second.
     * @throws as `Files.stat`, INVALID_INPUT, TOO_MANY_HOLDS
     */
    create(viewer: Viewer | null, input: NewHold, signal: AbortSignal): Promise<EntryHold> {
      return audit.recorded(viewer, 'HOLD_CREATE', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.hold, input)
        const reason = parseReason(input.reason)
        const until = input.until && parseHoldEnd(input.until)
        await (await storage.readAt(granted)).stat(signal)
        const { providerId, path, workspaceId, viewer: present } = granted
        const hold = {
          id: nextId(new Date()),
          workspaceId,
          providerId,
          path,
          reason,
          until,
          userId: present.member.userId,
          objectLock: null,
        }
        recording.add({ details: { holdId: hold.id, reason, until: until?.toISOString() ?? null } })
        return recording.commit(async change => {
          await lockProvider(change, providerId)
          if ((await countActiveHolds(change, providerId)) >= maxHolds) throw tooManyHolds()
          return insertHold(change, hold)
        })
      })
    },

    /** Releases a hold that has no date. @throws NOT_FOUND, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, ON_HOLD */
    release(viewer: Viewer | null, id: string): Promise<EntryHold> {
      return audit.recorded(viewer, 'HOLD_RELEASE', {}, async recording => {
        const { member } = requireOwner(viewer)
        return recording.commit(async change => {
          const hold = isId(id) ? await lockHold(change, member.workspaceId, id) : null
          if (!hold) throw new AppError('NOT_FOUND', 'There is no such hold.')
          const { providerId, path, reason } = hold
          recording.add({ location: { providerId, path: formatPath(path) }, details: { holdId: id, reason } })
          if (hold.releasedAt) throw new AppError('NOT_FOUND', 'The hold was released before.')
          if (hold.until) throw new AppError('ON_HOLD', 'A hold with a date ends then, and nobody ends it earlier.')
          return releaseHold(change, hold)
        })
      })
    },

    /** Lists the active holds that the viewer may see, the newest first. @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR */
    async list(
      viewer: Viewer | null,
      { providerId, first, after }: { providerId: string | null; first: number; after: string | null | undefined },
    ) {
      const present = requireScope(viewer, 'admin')
      const limit = parsePageSize(first, maxHoldsPage)
      const of = { workspaceId: present.member.workspaceId, providerId }
      if (providerId !== null && !isId(providerId)) return { items: [], hasNext: false, endCursor: null }
      const page = await visiblePage(
        each => listHolds(db, of, each),
        hold => isVisible(present, hold),
        { limit, after },
      )
      const items = page.rows.map(hold => ({ hold, cursor: encodeIdCursor(hold.id) }))
      return { items, hasNext: page.hasNext, endCursor: page.endCursor }
    },
  }
}

function endOf({ until }: EntryHold): number {
  return until?.getTime() ?? Number.POSITIVE_INFINITY
}

function parseReason(text: string): string {
  const reason = text.trim()
  if (reason !== '' && reason.length <= maxHoldReason && reason.isWellFormed() && !reason.includes('\0')) return reason
  throw new AppError('INVALID_INPUT', `The reason of a hold has 1 to ${maxHoldReason} characters.`)
}

export function parseHoldEnd(date: Date): Date {
  const until = parseFuture(date, 'The end of a hold')
  const latest = new Date()
  latest.setFullYear(latest.getFullYear() + maxHoldTime)
  if (until > latest) throw new AppError('INVALID_INPUT', `A hold lasts at most ${maxHoldTime} years.`)
  return until
}

function tooManyHolds(): AppError {
  return new AppError(
    'TOO_MANY_HOLDS',
    `A storage can have at most ${maxHolds} holds: hold a folder instead of its files.`,
  )
}

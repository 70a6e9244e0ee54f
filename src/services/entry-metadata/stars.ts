/** Stars, which members give to files and folders for themselves. Members who may read an entry may give it one. */
import { timeOrderedIds } from '../../auth/id.ts'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { requireAccount, requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { batchedStars, countStars, deleteStar, type EntryStar, insertStar, listStars } from '../../db/entry-stars.ts'
import { lockMember } from '../../db/members.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import { type AskedToRead, locationOf } from '../files/entry.ts'
import { parsePageSize } from '../input.ts'
import { decodeIdCursor } from '../paging.ts'
import { type MarkedPage, toMarkedPage } from './marked-entries.ts'

export type { EntryStar } from '../../db/entry-stars.ts'

export const maxStarsPage = 200
/** The maximum number of stars of a member. */
const maxStars = 5000

export function createEntryStars({ db, storage, audit }: { db: Database; storage: Storage; audit: Audit }) {
  const nextId = timeOrderedIds()
  const isStarred = batchedStars(db)

  return {
    /** Returns whether the member of the viewer has given the entry a star. The recipients of a share link see none. */
    async has(viewer: Viewer | null, location: AskedToRead): Promise<boolean> {
      const [{ providerId, path, viewer: present }] = authorize(viewer, needs.read, location)
      return present.kind !== 'SHARE' && isStarred({ userId: present.member.userId, providerId, path })
    },

    /** Gives an entry a star. One that has a star keeps it. @throws as `Files.stat`, TOO_MANY_STARS */
    add(viewer: Viewer | null, input: Asked<typeof needs.read>, signal: AbortSignal): Promise<void> {
      return audit.recorded(viewer, 'STAR_ADD', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.read, input)
        const { providerId, path, workspaceId, viewer: present } = granted
        requireAccount(present)
        const { kind } = await (await storage.readAt(granted)).stat(signal)
        const { userId } = present.member
        const star = { id: nextId(new Date()), workspaceId, userId, providerId, path, isFolder: kind === 'directory' }
        await recording.commit(async change => {
          await lockMember(change, star)
          if ((await countStars(change, star)) >= maxStars) throw tooManyStars()
          await insertStar(change, star)
        })
      })
    },

    /** Takes the star of an entry away, which may be gone. @throws as `authorize`, NOT_FOUND for a provider that does not exist */
    remove(viewer: Viewer | null, input: Asked<typeof needs.read>): Promise<void> {
      return audit.recorded(viewer, 'STAR_REMOVE', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.read, input)
        const { providerId, path, viewer: present } = granted
        requireAccount(present)
        await storage.record(granted)
        const { userId } = present.member
        await recording.commit(change => deleteStar(change, { userId, providerId, path }))
      })
    },

    /**
     * Returns one page of the entries that the member of the viewer has given a star, and that the viewer may access, the newest star first.
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      { first, after }: { first: number; after?: string | null | undefined },
    ): Promise<MarkedPage<EntryStar>> {
      const { member, access } = requireScope(viewer, 'read')
      const limit = parsePageSize(first, maxStarsPage)
      const before = after == null ? null : decodeIdCursor(after)
      return toMarkedPage(db, await listStars(db, { ...member, access }, { limit: limit + 1, before }), limit)
    },
  }
}

function tooManyStars(): AppError {
  const message = `You have ${maxStars} stars already: remove some of them, or give a star to a folder instead of its files.`
  return new AppError('TOO_MANY_STARS', message)
}

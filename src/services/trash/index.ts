/**
 * The trash keeps deleted entries for some days. `moves.ts` moves entries there and back, `settle.ts` ends what was
 * interrupted or has expired.
 */
import { isId } from '../../auth/id.ts'
import { formatPath } from '../../auth/path.ts'
import { type BaseGrants, grantTrash } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findItemOfJob, listTrash, removeTrash, type TrashItem } from '../../db/trash.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import type { FileEntry } from '../files/entry.ts'
import type { TrashBin } from '../files/trash-bin.ts'
import { parsePageSize } from '../input.ts'
import { decodeIdCursor, encodeIdCursor } from '../paging.ts'
import { factsOfItem, putInTrash, type RestoreInput, restoreForJob, restoreFromTrash } from './moves.ts'
import { startTrashCollector, trashTraitsAt } from './settle.ts'

export { factsOfItem, type RestoreInput } from './moves.ts'

export const maxTrashPage = 100

export interface TrashServicesOptions {
  db: Database
  storage: Storage
  onError: (error: unknown) => void
}

export function createTrashBin(context: TrashServicesOptions): TrashBin {
  return {
    isOn: async location => (await trashTraitsAt(context, location)).days > 0,
    put: (location, entry, options) => putInTrash(context, location, entry, options),
    restore: (id, location, options) => restoreForJob(context, id, location, options),
    itemOfJob: jobId => findItemOfJob(context.db, jobId),
  }
}

function withinOf(granted: BaseGrants<'write'>) {
  return { providerId: granted[0].providerId, paths: granted.map(({ path }) => path) }
}

export type Trash = ReturnType<typeof createTrash>

/** @param options.collects whether this server deletes expired items for good */
export function createTrash(options: TrashServicesOptions & { audit: Audit; collects: boolean }) {
  const { db, storage, audit, collects } = options
  const collector = collects ? startTrashCollector(options) : null

  return {
    /**
     * Returns one page of the entries that were deleted at or below the viewer's base paths, newest first.
     * @param query.jobId only the entries that this job has deleted
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      { providerId, jobId }: { providerId: string; jobId?: string | null | undefined },
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { item: TrashItem; cursor: string }[]; hasNext: boolean }> {
      const granted = grantTrash(viewer, providerId)
      const limit = parsePageSize(page.first, maxTrashPage)
      const before = page.after == null ? null : decodeIdCursor(page.after)
      await storage.record(granted[0])
      if (jobId != null && !isId(jobId)) return { items: [], hasNext: false }
      const found = await listTrash(db, { ...withinOf(granted), jobId: jobId ?? null }, { limit: limit + 1, before })
      const items = found.slice(0, limit).map(item => ({ item, cursor: encodeIdCursor(item.id) }))
      return { items, hasNext: found.length > limit }
    },

    /**
     * Moves an entry from the trash to where it was. Missing folders on its path are created.
     * @throws NOT_FOUND, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, ALREADY_EXISTS, NOT_EMPTY
     */
    restore(viewer: Viewer | null, input: RestoreInput, signal: AbortSignal): Promise<FileEntry> {
      const facts = { ...factsOfItem(input.id), details: { conflict: input.conflict } }
      return audit.recorded(viewer, 'RESTORE', facts, recording =>
        restoreFromTrash(options, viewer, input, { recording, signal }),
      )
    },

    /**
     * Removes all entries that were deleted at or below the viewer's base paths from the list. A server then deletes them for good.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND
     */
    async empty(viewer: Viewer | null, providerId: string): Promise<void> {
      await audit.recorded(viewer, 'TRASH_EMPTY', { location: { providerId } }, async recording => {
        const granted = grantTrash(viewer, providerId)
        await storage.record(granted[0])
        const within = withinOf(granted)
        await recording.commit(async change => {
          const items = await removeTrash(change, within)
          recording.add({ details: { paths: within.paths.map(formatPath), items } })
        })
      })
      collector?.wake()
    },

    /** Ends the work in the background. */
    stop: async (): Promise<void> => collector?.stop(),
  }
}

/**
 * The catalogue of every storage: one row for each entry, for the search. It follows the back ends, and nothing but the search depends on
 * it. `worker.ts` decides what is done next on which server, `walk.ts` lists folders, `follow.ts` looks at single entries, `feeds.ts` asks
 * back ends what others have changed, and `names.ts` decides which names a text finds. `content/` does the same for the text of files.
 */
import { randomUUID } from 'node:crypto'
import { includesPath } from '../../auth/access.ts'
import { root, type StoragePath } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { type Catalogue, compareAll, findCatalogues, type RunningChange } from '../../db/catalogue/catalogues.ts'
import { expectChange, hideFolder } from '../../db/catalogue/changes.ts'
import { type ContentCounts, countContents } from '../../db/catalogue/contents.ts'
import type { Database } from '../../db/client.ts'
import { batched } from '../../db/lookups.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import type { CatalogueMode } from '../../db/schema.ts'
import type { Storage } from '../../storage/index.ts'
import type { RecentChanges } from '../audit/recent.ts'
import { startContentWorker } from './content/worker.ts'
import { startFeeds } from './feeds.ts'
import { createInsight } from './insight.ts'
import { isWhole } from './scope.ts'
import { createSearch } from './search.ts'
import { announceServer, startCatalogueWorker } from './worker.ts'

export { maxCounted } from '../../db/catalogue/contents.ts'

/**
 * WAITING: the first listing of the provider has not begun. INDEXING: it has begun. READY: it has ended. FAILED: the back end does not
 * work, and the server tries again.
 */
export const catalogueStates = ['OFF', 'WAITING', 'INDEXING', 'READY', 'FAILED'] as const
export type CatalogueState = (typeof catalogueStates)[number]

/** The catalogue of a provider as a viewer sees it. */
export interface CatalogueStatus {
  mode: CatalogueMode
  state: CatalogueState
  /** Null for a viewer who may access only a part of the provider. */
  entries: number | null
  indexedAt: Date | null
  isComplete: boolean
  /** Null for a viewer who may access only a part of the provider, and without the mode CONTENT. */
  content(): Promise<ContentCounts | null>
}

/** Lets the search forget folders at once. Call these after the change. */
export interface FolderChanges {
  removed(folder: { providerId: string; path: StoragePath }): Promise<void>
  moved(from: { providerId: string; path: StoragePath }, to: { providerId: string; path: StoragePath }): Promise<void>
}

/** Tells the catalogue of changes without an event that it follows. */
export interface ExpectedChanges {
  /** The entry has changed now. */
  changed(at: { providerId: string; path: StoragePath }): Promise<void>
  /** A client may upload the file to the back end itself. @param seconds for how long */
  uploaded(at: { providerId: string; path: StoragePath }, seconds: number): Promise<void>
}

/** Seconds after which the catalogue looks for a file that a client may upload by itself, and again when that is no longer possible. */
const looksAfter = [10, 60, 300]

export function createCatalogue(options: {
  db: Database
  secrets: Secrets
  storage: Storage
  /** Hours between two comparisons; 0 means that this server works on no catalogue. */
  hours: number
  /** Whether this server works in the background. */
  isWorking: boolean
  /** The value of PATH. */
  searchPath: string
  /** See `announceServer`. */
  runningChanges: () => RunningChange[]
  recentChanges: Pick<RecentChanges, 'covers'>
  onError: (error: unknown) => void
}) {
  const { db, secrets, storage, hours, isWorking, searchPath, runningChanges, recentChanges, onError } = options
  const server = randomUUID()
  const works = isWorking && hours > 0
  const contentWorker = works ? startContentWorker({ db, storage, searchPath, onError }) : null
  const feeds = works
    ? startFeeds({ db, storage, server, recentChanges, onReport: () => worker?.wake(), onError })
    : null
  const worker = feeds ? startCatalogueWorker({ db, storage, interval: hours, onNew: feeds.begin, onError }) : null
  const leave = hours > 0 ? announceServer({ db, id: server, runningChanges, onError }) : async () => {}
  const find = batched(async (ids: readonly string[]) => {
    const found = await findCatalogues(db, ids)
    return new Map(found.map(catalogue => [catalogue.providerId ?? '', catalogue]))
  })
  const count = batched((ids: readonly number[]) => countContents(db, ids))
  const folders: FolderChanges = {
    async removed(folder) {
      if (hours > 0) await hideFolder(db, folder, null).catch(onError)
    },
    async moved(from, to) {
      if (hours > 0) await hideFolder(db, from, to).catch(onError)
    },
  }

  const expected: ExpectedChanges = {
    async changed(at) {
      if (hours > 0) await expectChange(db, at, [0]).catch(onError)
    },
    async uploaded(at, seconds) {
      const looks = [...looksAfter.filter(after => after < seconds), seconds]
      if (hours > 0) await expectChange(db, at, looks).catch(onError)
    },
  }

  return {
    ...createSearch({ db, secrets }),
    ...createInsight({ db, secrets }),
    folders,
    expected,

    /** Returns the catalogue of a provider that the viewer may access. */
    async statusOf(viewer: Viewer | null, record: ProviderRecord): Promise<CatalogueStatus> {
      const catalogue = await find(record.id)
      const content = async () => null
      if (!catalogue) return { mode: 'OFF', state: 'OFF', entries: null, indexedAt: null, isComplete: false, content }
      const isAll = viewer !== null && includesPath(viewer.access, record.id, root)
      const { mode, entries, indexedAt } = catalogue
      return {
        mode,
        state: stateOf(catalogue),
        entries: isAll ? entries : null,
        indexedAt: mode === 'OFF' ? null : indexedAt,
        isComplete: isWhole(catalogue),
        content: isAll && mode === 'CONTENT' ? () => count(catalogue.id) : content,
      }
    },

    /** Compares all storages soon, because changes may have been lost. */
    compareAll: () => compareAll(db),

    /** Looks for work now. */
    wake: () => worker?.wake(),

    /** Ends the work in the background. */
    async stopWork(): Promise<void> {
      await Promise.all([worker?.stop(), contentWorker?.stop(), feeds?.stop()])
    },

    /** Call this when all changes of this server are written. */
    leave,
  }
}

export type CatalogueService = ReturnType<typeof createCatalogue>

function stateOf({ mode, failure, indexedAt, round }: Catalogue): CatalogueState {
  if (mode === 'OFF') return 'OFF'
  if (failure !== null) return 'FAILED'
  if (indexedAt !== null) return 'READY'
  return round === null ? 'WAITING' : 'INDEXING'
}

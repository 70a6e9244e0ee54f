/**
 * Counts what providers contain, as soon as a quota applies and then once a day. This finds files that are older than the quota, and changes
 * that were not made through Stowage. A listing does not change what is known of a path that has changed since the listing began.
 */
import { randomUUID } from 'node:crypto'
import { childOf, root, type StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { findProviders, type ProviderRecord } from '../../db/providers.ts'
import {
  type CountedFile,
  type CountedProvider,
  claimCount,
  databaseTime,
  deleteMarksBefore,
  endCount,
  forgetCount,
  isAnyCountDue,
  keepCounted,
  listArrivals,
  listKeptVersions,
  listTrashed,
  mergeCounted,
  removeUncounted,
  renewCount,
} from '../../db/quotas/counts.ts'
import { AppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import type { ProviderReader } from '../../storage/provider-reader.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import { trashPath } from '../../storage/trash.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isGone, isHidden } from '../catalogue/entry.ts'
import { Pace } from '../catalogue/pace.ts'
import { CursorCheck } from '../files/tree.ts'

/** Milliseconds between two searches for a provider to count. */
const pollInterval = 10_000
/** Milliseconds: a quarter of a lease. */
const renewInterval = 30_000
/** Seconds from one count to the next one, and after a failure of the back end. */
const [interval, retry] = [24 * 60 * 60, 10 * 60]
/** Providers that a server counts at the same time, so that a slow one does not delay all others. */
const countsAtOnce = 3
/** Times that a count looks for folders that were moved while it ran. */
const maxRounds = 10
/** Folders that wait to be listed. A provider with more stays uncounted. */
const maxWaiting = 500_000
const maxDepth = 512

interface CountContext {
  db: Database
  storage: Storage
  onError: (error: unknown) => void
}

export function startCounting(context: CountContext): Polling {
  const { db, storage, onError } = context
  const lease = randomUUID()

  async function count(providerId: string, stop: AbortSignal): Promise<void> {
    if (await forgetCount(db, providerId)) return
    const [record] = await findProviders(db, [providerId])
    if (!record) return
    const lost = new AbortController()
    using _lease = new LeaseKeeper({
      interval: renewInterval,
      renew: () => renewCount(db, providerId, lease),
      onLost: () => lost.abort(),
    })
    const signal = AbortSignal.any([stop, lost.signal])
    const begunAt = await databaseTime(db)
    try {
      const walk = new CountingWalk(context, record, await storage.reader(record), begunAt, signal)
      await walk.all()
      await endCount(db, providerId, lease, { begunAt, seconds: interval })
    } catch (error) {
      await endCount(db, providerId, lease, { begunAt: null, seconds: stop.aborted ? 0 : retry })
      if (!signal.aborted) throw error
    } finally {
      // The next count needs marks from after its begin alone.
      if (!lost.signal.aborted) await deleteMarksBefore(db, providerId, begunAt)
    }
  }

  return startClaiming({
    interval: pollInterval,
    atOnce: countsAtOnce,
    isAnyDue: () => isAnyCountDue(db),
    claim: () => claimCount(db, lease),
    work: count,
    onError,
  })
}

/** A folder to list, and the path whose quotas its files count against. */
interface WaitingFolder {
  path: StoragePath
  chargedPath: StoragePath
  depth: number
}

class CountingWalk {
  readonly #db: Database
  readonly #record: ProviderRecord
  readonly #reader: ProviderReader
  readonly #begunAt: Date
  readonly #signal: AbortSignal
  readonly #pace: Pace
  readonly #waiting: WaitingFolder[] = []

  constructor(
    { db, storage }: CountContext,
    record: ProviderRecord,
    reader: ProviderReader,
    begunAt: Date,
    signal: AbortSignal,
  ) {
    this.#db = db
    this.#record = record
    this.#reader = reader
    this.#begunAt = begunAt
    this.#signal = signal
    this.#pace = new Pace(storage, record)
  }

  get #provider(): CountedProvider {
    return { providerId: this.#record.id, workspaceId: this.#record.workspaceId, begunAt: this.#begunAt }
  }

  async all(): Promise<void> {
    await this.#below({ path: root, chargedPath: root, depth: 0 })
    await this.#trash()
    await this.#versions()
    let since = this.#begunAt
    for (let round = 0; round < maxRounds; round++) {
      const now = await databaseTime(this.#db)
      const arrivals = await listArrivals(this.#db, this.#record.id, since)
      if (arrivals.length === 0) break
      for (const path of arrivals) await this.#below({ path, chargedPath: path, depth: 0 })
      since = now
    }
    await removeUncounted(this.#db, this.#provider)
  }

  async #below(top: WaitingFolder): Promise<void> {
    this.#waiting.push(top)
    for (let folder = this.#waiting.pop(); folder; folder = this.#waiting.pop()) {
      this.#signal.throwIfAborted()
      try {
        await this.#list(folder)
      } catch (error) {
        if (!isHidden(error)) throw error
        // The root of a provider that is away, as a disk that is not mounted, is no reason to forget everything.
        if (isGone(error) && folder.path === root) throw new AppError('UNAVAILABLE', undefined, { cause: error })
        // The files are still there, and the folder may open again.
        if (!isGone(error)) await keepCounted(this.#db, this.#provider, folder.path)
      }
    }
  }

  async #list(folder: WaitingFolder): Promise<void> {
    const cursors = new CursorCheck()
    let cursor: string | null = null
    do {
      const listedAt = await databaseTime(this.#db)
      const page: { entries: CheckedEntry[]; cursor: string | null } = await this.#reader.list(
        folder.path,
        { cursor, limit: maxPageSize },
        this.#signal,
      )
      cursors.check(page.cursor)
      const files: CountedFile[] = []
      for (const { kind, name, size } of page.entries) {
        const paths = pathsIn(folder, name)
        if (paths && kind === 'file') files.push({ ...paths, size })
        else if (paths) this.#add({ ...paths, depth: folder.depth + 1 })
      }
      await mergeCounted(this.#db, this.#provider, { files, listedAt })
      await this.#pace.wait(page.entries.length, this.#signal)
      cursor = page.cursor
    } while (cursor !== null)
  }

  #add(folder: WaitingFolder): void {
    if (folder.depth > maxDepth) return
    if (this.#waiting.length >= maxWaiting) throw new AppError('BACK_END_FAULT', 'The storage has too many folders.')
    this.#waiting.push(folder)
  }

  /** Counts the trash. The content of a folder in the trash of the back end itself is known only if Stowage has moved it there. */
  async #trash(): Promise<void> {
    let after: string | null = null
    do {
      const items = await listTrashed(this.#db, this.#record.id, after)
      for (const { id, nativeId, path: chargedPath, size, isFile } of items) {
        const path = trashPath(nativeId ?? id)
        const listedAt = await databaseTime(this.#db)
        if (nativeId !== null) await keepCounted(this.#db, this.#provider, path)
        if (isFile) await mergeCounted(this.#db, this.#provider, { files: [{ path, chargedPath, size }], listedAt })
        else if (nativeId === null) await this.#below({ path, chargedPath, depth: 0 })
      }
      after = items.at(-1)?.id ?? null
    } while (after !== null)
  }

  /** Counts the versions that are listed, and confirms the others until it is clear whether they are kept. */
  async #versions(): Promise<void> {
    let after: string | null = null
    do {
      const listedAt = await databaseTime(this.#db)
      const versions = await listKeptVersions(this.#db, this.#record.id, after)
      const files = versions.map(({ id, path: chargedPath, ...version }) => ({
        ...version,
        path: trashPath(id),
        chargedPath,
      }))
      await mergeCounted(this.#db, this.#provider, { files: files.filter(({ isSettled }) => isSettled), listedAt })
      for (const { path } of files.filter(({ isSettled }) => !isSettled)) {
        await keepCounted(this.#db, this.#provider, path)
      }
      after = versions.at(-1)?.id ?? null
    } while (after !== null)
  }
}

/** Returns null if the path is too long, so that nothing reaches it through Stowage. */
function pathsIn(folder: WaitingFolder, name: string): Omit<CountedFile, 'size'> | null {
  try {
    return { path: childOf(folder.path, name), chargedPath: childOf(folder.chargedPath, name) }
  } catch {
    return null
  }
}

/**
 * Counts what providers contain, as soon as a quota applies and then once a day: files from before the quota, and changes that were made
 * outside of this server. A listing says nothing about paths that changed after it began.
 */
import { randomUUID } from 'node:crypto'
import { childOf, isName, root, type StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { findProviders, type ProviderRecord } from '../../db/providers.ts'
import {
  type CountedFile,
  claimCount,
  databaseTime,
  deleteMarksBefore,
  endCount,
  forgetCount,
  isAnyCountDue,
  keepCounted,
  listArrivals,
  listTrashed,
  mergeCounted,
  removeUncounted,
  renewCount,
} from '../../db/quotas/counts.ts'
import { AppError, type Reason } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import type { ProviderReader } from '../../storage/provider-reader.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import { trashPath } from '../../storage/trash.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { Pace } from '../catalogue/pace.ts'
import { CursorCheck } from '../files/tree.ts'

/** Milliseconds between two searches for a provider to count. */
const pollInterval = 10_000
/** Milliseconds: a quarter of a lease. */
const renewInterval = 30_000
/** Seconds from one count to the next one, and after a failure of the back end. */
const [interval, retry] = [24 * 60 * 60, 10 * 60]
/** Times that a count looks for folders that were moved while it ran. */
const maxRounds = 10
/** Folders that wait to be listed. A provider with more stays uncounted. */
const maxWaiting = 500_000
const maxDepth = 512

/** Errors that concern one folder only. */
const hidden: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER', 'BACK_END_REFUSED', 'INVALID_PATH'])

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
    try {
      const walk = new CountingWalk(context, record, await storage.reader(record), await databaseTime(db), signal)
      await walk.all()
      await endCount(db, providerId, lease, { isComplete: true, seconds: interval })
    } catch (error) {
      await endCount(db, providerId, lease, { isComplete: false, seconds: stop.aborted ? 0 : retry })
      if (!signal.aborted) throw error
    }
  }

  return startClaiming({
    interval: pollInterval,
    atOnce: 1,
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

  get #provider() {
    return { providerId: this.#record.id, workspaceId: this.#record.workspaceId, begunAt: this.#begunAt }
  }

  async all(): Promise<void> {
    await this.#below({ path: root, chargedPath: root, depth: 0 })
    await this.#trash()
    let since = this.#begunAt
    for (let round = 0; round < maxRounds; round++) {
      const now = await databaseTime(this.#db)
      const arrivals = await listArrivals(this.#db, this.#record.id, since)
      if (arrivals.length === 0) break
      for (const path of arrivals) await this.#below({ path, chargedPath: path, depth: 0 })
      since = now
    }
    await removeUncounted(this.#db, this.#record.id, this.#begunAt)
    await deleteMarksBefore(this.#db, this.#record.id, this.#begunAt)
  }

  async #below(top: WaitingFolder): Promise<void> {
    this.#waiting.push(top)
    for (let folder = this.#waiting.pop(); folder; folder = this.#waiting.pop()) {
      this.#signal.throwIfAborted()
      try {
        await this.#list(folder)
      } catch (error) {
        if (!(error instanceof AppError) || !hidden.has(error.reason)) throw error
        // The files are still there, and the folder may open again.
        if (error.reason === 'BACK_END_REFUSED') {
          await keepCounted(this.#db, this.#record.id, folder.path, this.#begunAt)
        }
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
      const files = page.entries.filter(({ kind }) => kind === 'file').flatMap(entry => countedIn(folder, entry))
      await mergeCounted(this.#db, this.#provider, { files, listedAt })
      for (const { kind, name } of page.entries) if (kind === 'directory') this.#add(folder, name)
      await this.#pace.wait(page.entries.length, this.#signal)
      cursor = page.cursor
    } while (cursor !== null)
  }

  #add(folder: WaitingFolder, name: string): void {
    const [paths] = pathsIn(folder, name)
    if (!paths || folder.depth >= maxDepth) return
    if (this.#waiting.length >= maxWaiting) throw new AppError('BACK_END_FAULT', 'The storage has too many folders.')
    this.#waiting.push({ ...paths, depth: folder.depth + 1 })
  }

  /** Of folders in the trash of a back end, nobody knows the content, unless this server has moved them there. */
  async #trash(): Promise<void> {
    let after: string | null = null
    do {
      const items = await listTrashed(this.#db, this.#record.id, after)
      for (const { id, nativeId, path: chargedPath, size, isFile } of items) {
        const path = trashPath(nativeId ?? id)
        const listedAt = await databaseTime(this.#db)
        if (nativeId !== null) await keepCounted(this.#db, this.#record.id, path, this.#begunAt)
        if (isFile) await mergeCounted(this.#db, this.#provider, { files: [{ path, chargedPath, size }], listedAt })
        else if (nativeId === null) await this.#below({ path, chargedPath, depth: 0 })
      }
      after = items.at(-1)?.id ?? null
    } while (after !== null)
  }
}

function pathsIn(folder: WaitingFolder, name: string): { path: StoragePath; chargedPath: StoragePath }[] {
  if (!isName(name)) return []
  try {
    return [{ path: childOf(folder.path, name), chargedPath: childOf(folder.chargedPath, name) }]
  } catch {
    // The path is too long, so nothing reaches it through this server.
    return []
  }
}

function countedIn(folder: WaitingFolder, { name, size }: CheckedEntry): CountedFile[] {
  return pathsIn(folder, name).map(paths => ({ ...paths, size }))
}

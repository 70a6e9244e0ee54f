import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/client.ts'
import {
  deleteLongExpired,
  deleteUpload,
  dropLease,
  insertUpload,
  LimitExceeded,
  type NewUpload,
  type Progress,
  renewLease,
  saveProgress,
  takeLease,
  type UploadRecord,
  wantLeases,
} from '../../db/uploads.ts'
import { AppError } from '../../errors.ts'
import { memberLimits } from './upload-limits.ts'

/** Milliseconds; a request that waits on another server is heard within one. */
const heartbeat = 1000
/** Milliseconds without a heartbeat that got through after which the lease counts as lost: less than it holds. */
const leaseTimeout = 8000
/** Milliseconds that a request waits for the one before: longer than the lease of a server that was killed. */
const takeTimeout = 15_000
/** Milliseconds. */
export const pollInterval = 100

/** The right to work on one upload, which one request on all servers has at a time. */
export class Lease implements AsyncDisposable {
  readonly #db: Database
  readonly #id: string
  readonly #running: Map<string, Lease>
  readonly #timer: NodeJS.Timeout
  readonly #wanted = new AbortController()
  readonly #lost = new AbortController()
  #record: UploadRecord
  /** When the last heartbeat that got through was sent: from then on the lease holds. */
  #renewedAt = performance.now()
  #renewing = false

  constructor(db: Database, id: string, record: UploadRecord, running: Map<string, Lease>) {
    this.#db = db
    this.#id = id
    this.#record = record
    this.#running = running
    running.set(record.id, this)
    this.#timer = setInterval(() => void this.#renew(), heartbeat).unref()
  }

  /** As it stands after the last `save`. */
  get record(): UploadRecord {
    return this.#record
  }

  /** Aborts when another request waits: what has come is to be kept, and the lease to be released. */
  get wanted(): AbortSignal {
    return this.#wanted.signal
  }

  /** Aborts when another request may be at work: nothing may be done any more. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  want(): void {
    this.#wanted.abort(locked())
  }

  /** @throws UPLOAD_LOCKED where the lease is lost, TOO_MANY_UPLOADS: then nothing was saved */
  async save(progress: Progress): Promise<void> {
    this.#lost.signal.throwIfAborted()
    const sentAt = performance.now()
    const saved = await withinLimits(saveProgress(this.#db, this.#record.id, this.#id, progress))
    if (!saved) {
      this.#lost.abort(locked())
      throw locked()
    }
    this.#renewedAt = sentAt
    this.#record = saved
  }

  /** Removes the row. */
  async delete(): Promise<void> {
    await deleteUpload(this.#db, this.#record.id, this.#id)
  }

  /** The same of one that expired so long ago that its back end will not answer any more; false where it stays. */
  async deleteLongExpired(): Promise<boolean> {
    return await deleteLongExpired(this.#db, this.#record.id, this.#id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    if (this.#running.get(this.#record.id) === this) this.#running.delete(this.#record.id)
    // It ends by itself where this fails.
    await dropLease(this.#db, this.#record.id, this.#id).catch(() => {})
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now()
    // Looked at first: a database that cannot be reached may neither answer nor fail.
    if (sentAt - this.#renewedAt > leaseTimeout) this.#lost.abort(locked())
    if (this.#renewing) return
    this.#renewing = true
    try {
      const isWanted = await renewLease(this.#db, this.#record.id, this.#id)
      if (isWanted === null) this.#lost.abort(locked())
      else this.#renewedAt = Math.max(this.#renewedAt, sentAt)
      if (isWanted) this.want()
    } catch {
      // The next one tries again, until there is leaseTimeout.
    } finally {
      this.#renewing = false
    }
  }
}

export type Leases = ReturnType<typeof createLeases>

export function createLeases(db: Database) {
  /** Of this server, by upload: here nobody has to wait for a heartbeat. */
  const running = new Map<string, Lease>()
  return {
    /** Null where another upload that is under way has the name. @throws TOO_MANY_UPLOADS */
    async insert(values: NewUpload): Promise<Lease | null> {
      const id = randomUUID()
      const record = await withinLimits(insertUpload(db, values, id, memberLimits))
      return record && new Lease(db, id, record, running)
    },

    /**
     * Asks whoever has it to let go, and waits.
     * @param find what is looked up before each attempt, and throws where there is nothing to wait for
     * @throws UPLOAD_LOCKED
     */
    async take(uploadId: string, find: () => Promise<unknown>, signal: AbortSignal): Promise<Lease> {
      const id = randomUUID()
      const until = performance.now() + takeTimeout
      for (;;) {
        await find()
        signal.throwIfAborted()
        running.get(uploadId)?.want()
        const record = await takeLease(db, uploadId, id)
        if (record) return new Lease(db, id, record, running)
        if (performance.now() > until) throw locked()
        await sleep(pollInterval, undefined, { signal })
      }
    },

    /**
     * Asks whoever is at work on uploads to a provider to let go; false where there are none but `except`. One that nobody
     * is at work on counts, as it may have been let go a moment ago.
     */
    async wantAll(providerId: string, except: readonly string[]): Promise<boolean> {
      const ids = await wantLeases(db, providerId, except)
      for (const id of ids) running.get(id)?.want()
      return ids.length > 0
    },

    /** What `query` takes with the lease that it is given. */
    async takeAny(query: (lease: string) => Promise<UploadRecord | null>): Promise<Lease | null> {
      const id = randomUUID()
      const record = await query(id)
      return record && new Lease(db, id, record, running)
    },
  }
}

function locked(): AppError {
  return new AppError('UPLOAD_LOCKED', 'Another request goes on with this upload: ask with HEAD where it stands.')
}

/** @throws TOO_MANY_UPLOADS */
async function withinLimits<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (!(cause instanceof LimitExceeded)) throw cause
    const advice = 'finish or delete some of them, or wait until they expire'
    const message =
      cause.limit === 'uploads'
        ? `You have ${memberLimits.uploads} uploads that are not complete: ${advice}.`
        : `Your unfinished uploads hold too many bytes: ${advice}.`
    throw new AppError('TOO_MANY_UPLOADS', message, { cause })
  }
}

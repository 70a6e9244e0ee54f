import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/client.ts'
import {
  deleteLongExpired,
  deleteUpload,
  dropLease,
  type Progress,
  renewLease,
  saveProgress,
  takeFreeLease,
  takeLease,
  wantLeases,
} from '../../db/uploads/leases.ts'
import { LimitExceeded, type UploadRecord } from '../../db/uploads/record.ts'
import { insertUpload, type NewUpload } from '../../db/uploads/uploads.ts'
import { AppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { memberLimits } from './limits.ts'

/** Milliseconds. A request that waits on another server is noticed within one heartbeat. */
const heartbeat = 1000
/** Milliseconds without a successful heartbeat after which the lease counts as lost. Shorter than the lease itself. */
const leaseTimeout = 8000
/** Milliseconds that a request waits for the previous one. Longer than the lease of a killed server. */
const takeTimeout = 15_000
/** Milliseconds between attempts to take a lease. */
export const pollInterval = 100

/** The right to work on one upload. At most one request on all servers has it at a time. */
export class Lease implements AsyncDisposable {
  readonly #db: Database
  readonly #id: string
  readonly #running: Map<string, Lease>
  readonly #keeper: LeaseKeeper
  readonly #wanted = new AbortController()
  readonly #lost = new AbortController()
  readonly #ended = new AbortController()
  #record: UploadRecord
  /** The offset at which the body of the request ends; null if it is unknown. A request for the bytes from there waits. */
  end: number | null = null

  constructor(db: Database, id: string, record: UploadRecord, running: Map<string, Lease>) {
    this.#db = db
    this.#id = id
    this.#record = record
    this.#running = running
    running.set(record.id, this)
    this.#keeper = new LeaseKeeper({
      interval: heartbeat,
      timeout: leaseTimeout,
      isExact: true,
      renew: () => this.#renew(),
      onLost: () => this.#lost.abort(locked()),
    })
  }

  /** The upload as of the last `save`. */
  get record(): UploadRecord {
    return this.#record
  }

  /** Aborts when another request waits. Store what has arrived and release the lease. */
  get wanted(): AbortSignal {
    return this.#wanted.signal
  }

  /** Aborts when another request may have the lease. Stop all work. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Resolves when the request has ended, successful or not. @throws the reason of the signal */
  async waitForEnd(signal: AbortSignal): Promise<void> {
    const ended = this.#ended.signal
    if (!ended.aborted) await once(ended, 'abort', { signal })
  }

  want(): void {
    this.#wanted.abort(locked())
  }

  /** Saves the progress completely or not at all. @throws UPLOAD_LOCKED if the lease is lost, TOO_MANY_UPLOADS */
  async save(progress: Progress): Promise<void> {
    this.#lost.signal.throwIfAborted()
    const sentAt = performance.now()
    const saved = await withinLimits(saveProgress(this.#db, this.#record.id, this.#id, progress))
    if (!saved) {
      this.#lost.abort(locked())
      throw locked()
    }
    this.#keeper.renewed(sentAt)
    this.#record = saved
  }

  /** Deletes the upload from the database. */
  async delete(): Promise<void> {
    await deleteUpload(this.#db, this.#record.id, this.#id)
  }

  /** Deletes the upload if it expired so long ago that its back end is unlikely to return. Returns whether it did. */
  async deleteLongExpired(): Promise<boolean> {
    return await deleteLongExpired(this.#db, this.#record.id, this.#id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keeper[Symbol.dispose]()
    if (this.#running.get(this.#record.id) === this) this.#running.delete(this.#record.id)
    // If this fails, the lease expires by itself.
    await dropLease(this.#db, this.#record.id, this.#id).catch(() => {})
    this.#ended.abort()
  }

  /** Returns whether the request still has the lease. */
  async #renew(): Promise<boolean> {
    const isWanted = await renewLease(this.#db, this.#record.id, this.#id)
    if (isWanted) this.want()
    return isWanted !== null
  }
}

export type Leases = ReturnType<typeof createLeases>

export function createLeases(db: Database) {
  /** This server's leases by upload id. Requests on this server need not wait for a heartbeat. */
  const running = new Map<string, Lease>()
  return {
    /** Creates an upload with its lease. Returns null if an unfinished upload has the same name. @throws TOO_MANY_UPLOADS */
    async insert(values: NewUpload): Promise<Lease | null> {
      const id = randomUUID()
      const record = await withinLimits(insertUpload(db, values, id, memberLimits))
      return record && new Lease(db, id, record, running)
    },

    /**
     * Asks the current holder to release the lease, and waits for it. It does not ask a holder on this server
     * whose body ends at `offset`: the client sends the next bytes without waiting for the response to that body.
     * @param find runs before each attempt, and throws if the upload is missing
     * @throws UPLOAD_LOCKED
     */
    async take(uploadId: string, find: () => Promise<unknown>, signal: AbortSignal, offset?: number): Promise<Lease> {
      const id = randomUUID()
      const holder = running.get(uploadId)
      if (holder && holder.end === offset) await holder.waitForEnd(signal)
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
     * Asks the holders of all leases on uploads to a provider to release them. Returns false if there are no uploads besides
     * `except`. Uploads without a lease count, because their lease may have just been released.
     */
    async wantAll(providerId: string, except: readonly string[]): Promise<boolean> {
      const ids = await wantLeases(db, providerId, except)
      for (const id of ids) running.get(id)?.want()
      return ids.length > 0
    },

    /** Takes the lease unless another request has it. */
    async takeFree(uploadId: string): Promise<Lease | null> {
      const id = randomUUID()
      const record = await takeFreeLease(db, uploadId, id)
      return record && new Lease(db, id, record, running)
    },

    /** Takes the lease of the upload that `query` selects. */
    async takeAny(query: (lease: string) => Promise<UploadRecord | null>): Promise<Lease | null> {
      const id = randomUUID()
      const record = await query(id)
      return record && new Lease(db, id, record, running)
    },
  }
}

export function locked(): AppError {
  return new AppError('UPLOAD_LOCKED', 'Another request continues this upload: send HEAD to get its offset.')
}

/** @throws TOO_MANY_UPLOADS */
export async function withinLimits<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (!(cause instanceof LimitExceeded)) throw cause
    const advice = 'finish or delete some of them, or wait until they expire'
    const message =
      cause.limit === 'uploads'
        ? `You have ${cause.most} uploads that are not complete: ${advice}.`
        : `Your unfinished uploads hold too many bytes: ${advice}.`
    throw new AppError('TOO_MANY_UPLOADS', message, { cause })
  }
}

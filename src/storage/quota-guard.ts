/** The questions of the storage about quotas. The services decide, and keep what counts against them. */
import { type Readable, Transform } from 'node:stream'
import type { StoragePath } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import { settle } from '../lib/settle.ts'
import { detach } from './body-streams.ts'

/** The functions that the body of a file calls while it passes. Both reject with QUOTA_EXCEEDED. */
export interface BodyMeter {
  /** Reserves what a file of this many bytes needs; null if the size is known, and reserved. */
  reach: ((total: number) => Promise<void>) | null
  /** Call this before the last bytes are passed on. The file that it replaces may be gone meanwhile. */
  confirm(total: number): Promise<void>
}

interface QuotaWrite {
  /** Bytes; undefined if the size is unknown before the last byte. */
  size?: number | undefined
  /** The upload that has reserved the space. */
  uploadId?: string | undefined
  /** Whether a file that is replaced stays as a version. */
  keepsReplaced: boolean
  /** Whether `work` passes a body through the meter. Otherwise, the file can appear at once. */
  hasBody: boolean
}

/** Runs changes of a provider, and counts what they store. If no quota applies, it costs no query. */
export interface QuotaGuard {
  /** Whether a quota applies to the provider, or to a member who may use it. */
  applies(providerId: string): Promise<boolean>
  /**
   * Reserves space, and counts the file that `work` stores. A result of null means that nothing was stored.
   * @param work gets a meter for the body, unless no quota applies
   * @throws QUOTA_EXCEEDED before `work`
   */
  write<Stored extends { size: number | null } | null>(
    grant: Grant,
    path: StoragePath,
    write: QuotaWrite,
    work: (meter: BodyMeter | null) => Promise<Stored>,
  ): Promise<Stored>
  /**
   * Reserves space for an upload that goes on after the request.
   * @param reservation.adds whether the bytes are added to those that the upload has
   * @throws QUOTA_EXCEEDED
   */
  reserve(
    grant: Grant,
    path: StoragePath,
    reservation: { uploadId: string; bytes: number; adds: boolean; keepsReplaced: boolean },
  ): Promise<void>
  /** Counts that nothing is at the path any more. @param isTree whether a folder goes with everything below it */
  remove<T>(grant: Grant, path: StoragePath, isTree: boolean, work: () => Promise<T>): Promise<T>
  /**
   * Counts that an entry has moved. A result of null means that it has not. In the trash, it counts against the quotas of its earlier path.
   * @param move.size the bytes of a file; null for a folder; undefined if nobody has looked
   * @throws QUOTA_EXCEEDED before `work`
   */
  move<Moved extends { kind: 'file' | 'directory'; size: number | null } | null>(
    grant: Grant,
    move: { from: StoragePath; to: StoragePath; size: number | null | undefined; keepsReplaced: boolean },
    work: () => Promise<Moved>,
  ): Promise<Moved>
}

/** For steps of a change that is counted as a whole. */
export const countsNothing: QuotaGuard = {
  applies: async () => false,
  write: (_grant, _path, _write, work) => work(null),
  reserve: async () => {},
  remove: (_grant, _path, _isTree, work) => work(),
  move: (_grant, _move, work) => work(),
}

/** Bytes that are reserved at least when a body of unknown size grows, and at most. */
const [firstStep, longestStep] = [1024 ** 2, 64 * 1024 ** 2]

/** Passes a body on as long as there is room for its bytes. The last bytes wait until the space for all of them is confirmed. */
export function meteredBody(body: Readable, meter: BodyMeter): Readable {
  const reservation = meter.reach && new GrowingReservation(meter.reach)
  let last: Buffer | null = null
  let total = 0
  const metered = new Transform({
    highWaterMark: 64 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      const before = last
      last = chunk
      total += chunk.length
      const growth = reservation?.add(chunk.length)
      if (growth) void settle(growth, error => done(error, before ?? undefined))
      else done(null, before ?? undefined)
    },
    flush(done) {
      void settle(meter.confirm(total), error => done(error, last ?? undefined))
    },
  })
  return detach(body, metered)
}

/** Reserves in steps that grow with the bytes, so that a long body asks seldom. */
export class GrowingReservation {
  readonly #reach: NonNullable<BodyMeter['reach']>
  #total: number
  #reserved: number

  /** @param total the bytes that are reserved already */
  constructor(reach: NonNullable<BodyMeter['reach']>, total = 0) {
    this.#reach = reach
    this.#total = total
    this.#reserved = total
  }

  /** Call this before bytes are stored. Returns null if there is room. Rejects with QUOTA_EXCEEDED. */
  add(bytes: number): Promise<void> | null {
    this.#total += bytes
    return this.#total > this.#reserved ? this.#grow() : null
  }

  async #grow(): Promise<void> {
    const step = Math.min(longestStep, Math.max(firstStep, this.#reserved))
    try {
      await this.#reach(this.#total + step)
      this.#reserved = this.#total + step
    } catch {
      // Near the limit, exactly what has arrived may fit.
      await this.#reach(this.#total)
      this.#reserved = this.#total
    }
  }
}

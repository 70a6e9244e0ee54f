import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ResumableWrites, Unfinished } from '../../adapters/contract.ts'
import { nameOf, type StoragePath } from '../auth/path.ts'
import { callAdapterForChange } from './adapter-call.ts'
import { type Patience, takenInTime, within } from './transfer-timeouts.ts'
import { type CheckedEntry, checkEntry, fault } from './validate-entry.ts'

/** Bytes of UTF-8; the contract's bound. */
const maxStateBytes = 8 * 1024

/** Milliseconds. */
const abortTimeout = 30_000
/** Milliseconds between attempts. */
const abandonPauses = [1_000, 4_000, 15_000]

/** Runs work that notes what it takes: see `createUnfinishedWrites`. */
type Noted = <T>(work: (unfinished: Unfinished) => Promise<T>) => Promise<T>

/** An unfinished write that the back end itself holds at a path. All that the adapter answers is checked here. */
export class ResumableLocation {
  readonly #writes: ResumableWrites
  readonly #path: StoragePath
  readonly #patience: Patience
  readonly #noted: Noted

  constructor(writes: ResumableWrites, path: StoragePath, patience: Patience, noted: Noted) {
    this.#writes = writes
    this.#path = path
    this.#patience = patience
    this.#noted = noted
  }

  /** Bytes; the size of every append is a multiple of this. */
  get partSize(): number {
    return this.#writes.partSize
  }

  get maxAppends(): number {
    return this.#writes.maxAppends ?? Number.POSITIVE_INFINITY
  }

  /** @param save stores the state; where that fails, the back end frees what it began */
  async begin(
    requestSignal: AbortSignal,
    options: { size?: number; mimeType?: string },
    save: (state: string) => Promise<void>,
  ): Promise<void> {
    await this.#noted(async unfinished => {
      const state = await within(requestSignal, this.#patience.transfer, signal =>
        callAdapterForChange(signal, async () =>
          checkState(await this.#writes.begin(this.#path, { ...options, unfinished, signal })),
        ),
      )
      try {
        await save(state)
      } catch (error) {
        // Nobody else knows of it.
        await this.#abandon(state).catch(() => {})
        throw error
      }
    })
  }

  append(
    requestSignal: AbortSignal,
    state: string,
    bytes: AsyncIterable<Buffer>,
    options: { offset: number; size: number },
  ): Promise<string> {
    return this.#giving(requestSignal, bytes, options.size, async (body, signal) =>
      checkState(await this.#writes.append(state, body, { ...options, signal })),
    )
  }

  /** Frees what the back end holds, whether or not the client is still there. */
  abort(state: string): Promise<void> {
    const signal = AbortSignal.timeout(abortTimeout)
    return callAdapterForChange(signal, () => this.#writes.abort(state, { signal }))
  }

  /** The same for what nobody else knows of: a back end that is busy, or away, is asked again for a while. */
  async #abandon(state: string): Promise<void> {
    for (const pause of abandonPauses) {
      try {
        return await this.abort(state)
      } catch {
        await sleep(pause, undefined, { ref: false })
      }
    }
    await this.abort(state)
  }

  /** @param bytes the rest, `size` of them */
  complete(
    requestSignal: AbortSignal,
    state: string,
    bytes: AsyncIterable<Buffer>,
    options: { offset: number; size: number; overwrite: boolean },
  ): Promise<CheckedEntry> {
    return this.#giving(requestSignal, bytes, options.size, async (body, signal) => {
      const stored = checkEntry(await this.#writes.complete(state, body, { ...options, signal }), nameOf(this.#path))
      const whole = options.offset + options.size
      if (stored.size !== null && stored.size !== whole) throw fault(`${stored.size} bytes as stored, of ${whole}`)
      return stored
    })
  }

  #giving<T>(
    requestSignal: AbortSignal,
    bytes: AsyncIterable<Buffer>,
    size: number,
    use: (body: Readable, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const body = Readable.from(bytes, { objectMode: false })
    // It may fail before the adapter has begun to read it, who then finds it failed.
    body.on('error', () => {})
    return takenInTime(requestSignal, body, this.#patience, size, signal =>
      callAdapterForChange(signal, () => use(body, signal).finally(() => body.destroy())),
    )
  }
}

/** @throws BACK_END_FAULT */
function checkState(state: unknown): string {
  if (typeof state !== 'string' || Buffer.byteLength(state) > maxStateBytes) throw fault('an impossible state')
  return state
}

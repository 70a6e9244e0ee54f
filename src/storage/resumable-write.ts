import { Readable } from 'node:stream'
import type { Entry, PartWrites, ResumableWrites, Unfinished } from '../../adapters/contract.ts'
import { nameOf, type StoragePath } from '../auth/path.ts'
import { AppError } from '../errors.ts'
import { withRetries } from '../lib/retry.ts'
import { callAdapterForChange } from './adapter-call.ts'
import type { ContentHash, UnfinishedContents } from './content-hash.ts'
import { runWithTimeout, type TransferTimeouts, writeWithTimeout } from './transfer-timeouts.ts'
import { type CheckedEntry, checkEntry, fault } from './validate-entry.ts'
import type { Keeping } from './versions.ts'

/** The maximum number of bytes of UTF-8, from the contract. */
const maxStateBytes = 8 * 1024
/** The maximum number of bytes where the host itself implements the writes. Adapters cannot set this property. */
export const stateLimit = Symbol('the maximum number of bytes of a state')
export type LargeStates = ResumableWrites & { readonly [stateLimit]?: number }
/** The maximum number of characters, from the contract. */
const maxTagLength = 256

/** Milliseconds. */
const abortTimeout = 30_000
/** In milliseconds. */
const abortSchedule = { delays: [1_000, 4_000, 15_000] }

interface ResumableContext {
  timeouts: TransferTimeouts
  /** Runs work that records what it stores at the back end: see `createWriteTracker`. */
  track<T>(work: (unfinished: Unfinished) => Promise<T>): Promise<T>
  /** Runs the step that makes the file visible, with what keeps a file that it replaces and the signal of the step. @throws LOCKED, ON_HOLD */
  complete<T>(
    signal: AbortSignal,
    options: { overwrite: boolean },
    work: (keeping: Keeping | null, signal: AbortSignal) => Promise<T>,
  ): Promise<T>
  contents: UnfinishedContents
  /** Called when the file is visible. @param sha256 null if this process has not sent all of its bytes in order */
  wrote(entry: CheckedEntry, sha256: Buffer | null): void
}

/** An unfinished write that the back end itself stores at a path. Validates what the adapter returns. */
export class ResumableLocation {
  readonly #writes: LargeStates
  readonly #path: StoragePath
  readonly #context: ResumableContext

  constructor(writes: LargeStates, path: StoragePath, context: ResumableContext) {
    this.#writes = writes
    this.#path = path
    this.#context = context
  }

  /** The size of every append is a multiple of this number of bytes. */
  get partSize(): number {
    return this.#writes.partSize
  }

  get maxAppends(): number {
    return this.#writes.maxAppends ?? Number.POSITIVE_INFINITY
  }

  /** The size in bytes of every part but the last, at least; null if the back end takes no parts in any order. */
  get minPartSize(): number | null {
    return this.#writes.parts?.minSize ?? null
  }

  /** @param save stores the state; if it fails, the back end frees the upload */
  async begin(
    requestSignal: AbortSignal,
    options: { size?: number; mimeType?: string; modifiedAt?: Date },
    save: (state: string) => Promise<void>,
  ): Promise<void> {
    await this.#context.track(async unfinished => {
      const state = await runWithTimeout(requestSignal, this.#context.timeouts.transfer, signal =>
        callAdapterForChange(signal, async () =>
          this.#checked(await this.#writes.begin(this.#path, { ...options, unfinished, signal })),
        ),
      )
      try {
        await save(state)
      } catch (error) {
        // The state is stored nowhere else, so the sweep cannot free the upload.
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
    const content = this.#context.contents.take(state, options.offset)
    const append = async (body: Readable, signal: AbortSignal) => {
      const next = this.#checked(await this.#writes.append(state, body, { ...options, signal }))
      if (content) this.#context.contents.keep(next, content)
      return next
    }
    return this.#send(requestSignal, readableOf(bytes), options.size, append, { content })
  }

  /** Stores a part, and returns its tag. Call it only if `minPartSize` is not null. */
  putPart(
    requestSignal: AbortSignal,
    state: string,
    body: Readable,
    options: { number: number; size: number },
  ): Promise<string> {
    return this.#send(requestSignal, body, options.size, async (body, signal) =>
      checkTag(await this.#parts.put(state, body, { ...options, signal })),
    )
  }

  /**
   * Makes the file of these parts visible. Call it only if `minPartSize` is not null.
   * @param options.size the size of the file in bytes
   */
  async completeParts(
    requestSignal: AbortSignal,
    state: string,
    parts: readonly { number: number; tag: string }[],
    options: { size: number; overwrite: boolean },
  ): Promise<CheckedEntry> {
    return this.#context.complete(requestSignal, options, async (keeping, granted) => {
      await keeping?.before()
      const call = { ...options, ...keeping?.option }
      return runWithTimeout(granted, this.#context.timeouts.step, signal =>
        callAdapterForChange(signal, async () =>
          this.#stored(await this.#parts.complete(state, parts, { ...call, signal }), options.size),
        ),
      )
    })
  }

  /** Frees what the back end stores, even if the client has disconnected. */
  abort(state: string): Promise<void> {
    const signal = AbortSignal.timeout(abortTimeout)
    return callAdapterForChange(signal, () => this.#writes.abort(state, { signal }))
  }

  /** Aborts an upload whose state is not stored. Retries, because no sweep can do it later. */
  async #abandon(state: string): Promise<void> {
    await withRetries(abortSchedule, { leastDelay: () => 0 }, () => this.abort(state))
  }

  /** @param bytes the last `size` bytes of the file */
  async complete(
    requestSignal: AbortSignal,
    state: string,
    bytes: AsyncIterable<Buffer>,
    options: { offset: number; size: number; overwrite: boolean },
  ): Promise<CheckedEntry> {
    return this.#context.complete(requestSignal, options, async (keeping, granted) => {
      const content = this.#context.contents.take(state, options.offset)
      const complete = async (body: Readable, signal: AbortSignal) => {
        const size = options.offset + options.size
        const call = { ...options, ...keeping?.option, signal }
        const entry = this.#stored(await this.#writes.complete(state, body, call), size)
        this.#context.wrote(entry, content?.digest(size) ?? null)
        return entry
      }
      const last = readableOf(bytes)
      const body = keeping ? await keeping.beforeEndOf(last) : last
      return this.#send(granted, body, options.size, complete, { content, keeping })
    })
  }

  get #parts(): PartWrites {
    const { parts } = this.#writes
    if (!parts) throw new AppError('INTERNAL')
    return parts
  }

  /** @throws BACK_END_FAULT */
  #checked(state: unknown): string {
    const limit = this.#writes[stateLimit] ?? maxStateBytes
    if (typeof state !== 'string' || Buffer.byteLength(state) > limit) throw fault('an invalid state')
    return state
  }

  /** @param size the bytes of the file @throws BACK_END_FAULT */
  #stored(entry: Entry, size: number): CheckedEntry {
    const stored = checkEntry(entry, nameOf(this.#path))
    if (stored.size === null || stored.size === size) return stored
    throw fault(`a stored size of ${stored.size} bytes instead of ${size}`)
  }

  #send<T>(
    requestSignal: AbortSignal,
    body: Readable,
    size: number,
    use: (body: Readable, signal: AbortSignal) => Promise<T>,
    { content, keeping }: { content?: ContentHash | null; keeping?: Keeping | null } = {},
  ): Promise<T> {
    // The body may fail before the adapter reads it. The adapter then gets the error from its first read.
    body.on('error', () => {})
    const send = (signal: AbortSignal) =>
      callAdapterForChange(signal, () => use(body, signal).finally(() => body.destroy()))
    return writeWithTimeout(requestSignal, body, this.#context.timeouts, send, {
      size,
      onChunk: content?.update,
      isPaused: () => keeping?.isBusy === true,
    })
  }
}

function readableOf(bytes: AsyncIterable<Buffer>): Readable {
  return Readable.from(bytes, { objectMode: false })
}

/** @throws BACK_END_FAULT */
function checkTag(tag: unknown): string {
  if (typeof tag !== 'string' || tag === '' || tag.length > maxTagLength) throw fault('an invalid tag of a part')
  return tag
}

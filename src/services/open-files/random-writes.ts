/**
 * Writes a file at any position. It becomes visible as a whole when it is closed. Content that arrives from the start to the end
 * streams to the back end; what arrives slightly out of order waits in memory; any other order takes a file of this machine.
 */
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { ByteBudget } from '../../lib/byte-budget.ts'
import type { FileEntry, UploadInput } from '../files/index.ts'
import type { StagedFile } from './staged-file.ts'

/** Bytes of a file that is sent as a whole when it is closed. */
const smallBytes = 1024 * 1024
/** Bytes that wait for the back end. */
const streamBytes = 256 * 1024
/** Bytes that wait for earlier ones, and how far they can be ahead. */
const windowBytes = 4 * 1024 * 1024
/** Bytes in the memory of all files: of small ones, and of what is ahead. Beyond it, small files stream, and others take a staged file. */
const buffered = new ByteBudget({ total: 256 * 1024 * 1024, ofOwner: 64 * 1024 * 1024 })

type WriteState =
  /** The entry at the path has all of it. */
  | { kind: 'stored' }
  | { kind: 'memory'; chunks: Buffer[]; bytes: number }
  | { kind: 'stream'; body: UploadBody; bytes: number; sending: Promise<FileEntry> }
  | {
      kind: 'staged'
      file: StagedFile
      /** Whether the file has something that is not stored. */
      isChanged: boolean
      condition: UploadInput['condition']
    }

export interface RandomWritesOptions {
  /** The member, for the bounds on memory. */
  owner: string
  /** The entry that is changed; null for a new or an emptied file. */
  existing: FileEntry | null
  /** Whether the file must be a new one. */
  isNew: boolean
  /** Whether all bytes go to the end. */
  appends: boolean
  upload(input: Pick<UploadInput, 'body' | 'size' | 'modifiedAt' | 'condition' | 'conflict'>): Promise<FileEntry>
  /** Opens an empty staged file. */
  stage(): Promise<StagedFile>
  /** Copies the entry at the path into a staged file, and returns the condition that it has not changed. */
  load(file: StagedFile): Promise<UploadInput['condition']>
}

/** The caller waits for each call before the next one. */
export class RandomWrites implements AsyncDisposable {
  readonly #options: RandomWritesOptions
  #content: WriteState
  #conflict: 'FAIL' | 'REPLACE'
  /** Bytes that are ahead of the rest, by their positions. */
  readonly #ahead = new Map<number, Buffer>()
  #aheadBytes = 0
  /** Bytes of the budget. */
  #bufferedBytes = 0
  #size: number
  #modifiedAt: Date | undefined
  /** The last error of the upload. */
  #failure: unknown

  constructor(options: RandomWritesOptions) {
    this.#options = options
    this.#conflict = options.isNew ? 'FAIL' : 'REPLACE'
    this.#content = options.existing ? { kind: 'stored' } : { kind: 'memory', chunks: [], bytes: 0 }
    this.#size = options.existing?.size ?? 0
    this.#modifiedAt = undefined
  }

  /** The file as it will be. */
  get entry(): { kind: 'file'; size: number; modifiedAt: Date } {
    return { kind: 'file', size: this.#size, modifiedAt: this.#modifiedAt ?? new Date() }
  }

  /** @throws the errors of an upload, also of earlier writes */
  async write(position: number, bytes: Buffer): Promise<void> {
    if (this.#failure) throw this.#failure
    if (bytes.length === 0) return
    const at = this.#options.appends ? this.#size : position
    const content = this.#content
    if (content.kind === 'staged' || content.kind === 'stored')
      await this.#stagedToChange(file => file.write(at, bytes))
    else if (at === content.bytes) await this.#addInOrder(bytes)
    else if (this.#fitsAhead(at, bytes, content.bytes)) {
      this.#ahead.set(at, bytes)
      this.#aheadBytes += bytes.length
    } else await this.#stagedToChange(file => file.write(at, bytes))
    this.#size = Math.max(this.#size, at + bytes.length)
  }

  async read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    return (await this.#toStaged()).file.read(target, at, position, length)
  }

  async truncate(size: number): Promise<void> {
    if (size === this.#size) return
    await this.#stagedToChange(file => file.truncate(size))
    this.#size = size
  }

  /** Sets the modification time of the file. Resolves with false if the upload has begun without it. */
  setTime(modifiedAt: Date): boolean {
    this.#modifiedAt = modifiedAt
    return this.#content.kind === 'memory' || this.#content.kind === 'staged'
  }

  /** Makes the content visible. @throws the errors of an upload */
  async store(): Promise<void> {
    if (this.#failure) throw this.#failure
    try {
      await this.#store()
    } catch (error) {
      this.#failure = error
      throw error
    }
    if (this.#content.kind !== 'staged') this.#content = { kind: 'stored' }
    this.#unbuffer(this.#bufferedBytes)
    this.#conflict = 'REPLACE'
  }

  /** Discards what is not stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    const content = this.#content
    this.#unbuffer(this.#bufferedBytes)
    if (content.kind === 'stream') content.body.destroy(new AppError('INCOMPLETE_BODY', 'The file was not closed.'))
    if (content.kind === 'stream') await content.sending.catch(() => {})
    if (content.kind === 'staged') await content.file[Symbol.asyncDispose]()
  }

  #fitsAhead(position: number, bytes: Buffer, next: number): boolean {
    if (position < next || position + bytes.length > next + windowBytes) return false
    if (this.#aheadBytes + bytes.length > windowBytes) return false
    const end = position + bytes.length
    const overlaps = Array.from(this.#ahead).some(([other, { length }]) => other < end && position < other + length)
    return !overlaps && this.#buffer(bytes.length)
  }

  /** Returns whether the budget has room for more bytes. */
  #buffer(bytes: number): boolean {
    if (buffered.tryTake(this.#options.owner, bytes) !== null) return false
    this.#bufferedBytes += bytes
    return true
  }

  #unbuffer(bytes: number): void {
    buffered.release(this.#options.owner, bytes)
    this.#bufferedBytes -= bytes
  }

  async #addInOrder(bytes: Buffer): Promise<void> {
    await this.#add(bytes)
    for (let next = this.#takeAhead(); next; next = this.#takeAhead()) await this.#add(next)
  }

  #takeAhead(): Buffer | undefined {
    const content = this.#content
    if (this.#ahead.size === 0 || !('bytes' in content)) return undefined
    const bytes = this.#ahead.get(content.bytes)
    if (!bytes) return undefined
    this.#ahead.delete(content.bytes)
    this.#aheadBytes -= bytes.length
    this.#unbuffer(bytes.length)
    return bytes
  }

  async #add(bytes: Buffer): Promise<void> {
    const content = this.#content
    if (content.kind === 'stream') {
      content.bytes += bytes.length
      await content.body.add(bytes)
    } else if (content.kind === 'memory') {
      const fits = content.bytes + bytes.length <= smallBytes && this.#buffer(bytes.length)
      content.chunks.push(bytes)
      content.bytes += bytes.length
      if (!fits) await this.#startStream(content, bytes.length)
    }
  }

  /** @param latest bytes that are not in the budget */
  async #startStream({ chunks, bytes }: { chunks: Buffer[]; bytes: number }, latest: number): Promise<void> {
    const body = new UploadBody()
    const sending = this.#upload({ body })
    sending.catch(error => {
      this.#failure ??= error
      body.destroy(error)
    })
    this.#content = { kind: 'stream', body, bytes, sending }
    for (const chunk of chunks) await body.add(chunk)
    this.#unbuffer(bytes - latest)
  }

  #upload(input: Pick<UploadInput, 'body' | 'size' | 'condition'>): Promise<FileEntry> {
    const modifiedAt = this.#modifiedAt
    return this.#options.upload({ ...input, conflict: this.#conflict, ...(modifiedAt && { modifiedAt }) })
  }

  async #store(): Promise<void> {
    const content = this.#content
    if (content.kind === 'stored') return
    if (content.kind === 'staged') {
      if (!content.isChanged) return
      const { file, condition } = content
      const { etag } = await this.#upload({ body: file.stream(), size: file.size, condition })
      // The file stays here, so that a program that stores after each write does not read it again each time.
      content.isChanged = false
      content.condition = current => current === etag
      return
    }
    await this.#fillGaps()
    if (this.#content.kind === 'memory') {
      const { chunks, bytes } = this.#content
      await this.#upload({ body: Readable.from(chunks, { objectMode: false }), size: bytes })
    } else if (this.#content.kind === 'stream') {
      this.#content.body.push(null)
      await this.#content.sending
    }
  }

  /** Adds zeros where bytes are missing, as a file system does. The window bounds them. */
  async #fillGaps(): Promise<void> {
    for (const position of [...this.#ahead.keys()].toSorted((a, b) => a - b)) {
      const next = 'bytes' in this.#content ? this.#content.bytes : position
      if (position > next) await this.#addInOrder(Buffer.alloc(position - next))
    }
  }

  async #stagedToChange(change: (file: StagedFile) => Promise<void>): Promise<void> {
    const staged = await this.#toStaged()
    staged.isChanged = true
    await change(staged.file)
  }

  /** What a stream has sent cannot change any more, so it is stored first and then read again. */
  async #toStaged(): Promise<Extract<WriteState, { kind: 'staged' }>> {
    if (this.#content.kind === 'staged') return this.#content
    const ahead = [...this.#ahead]
    this.#ahead.clear()
    this.#aheadBytes = 0
    if (this.#content.kind === 'stream') await this.store()
    const content = this.#content
    const file = await this.#options.stage()
    try {
      const condition = content.kind === 'stored' ? await this.#options.load(file) : undefined
      let position = 0
      for (const chunk of content.kind === 'memory' ? content.chunks : []) {
        await file.write(position, chunk)
        position += chunk.length
      }
      for (const [at, bytes] of ahead) await file.write(at, bytes)
      const isChanged = content.kind !== 'stored' || ahead.length > 0
      const staged = { kind: 'staged' as const, file, condition, isChanged }
      this.#content = staged
      this.#unbuffer(this.#bufferedBytes)
      return staged
    } catch (error) {
      await file[Symbol.asyncDispose]()
      throw error
    }
  }
}

/** The body of an upload whose bytes arrive one by one. */
class UploadBody extends Readable {
  #resume: (() => void) | null = null

  constructor() {
    super({ highWaterMark: streamBytes })
    // The write or the end reports the error.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#resume?.()
    this.#resume = null
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#resume?.()
    done(error)
  }

  /** Resolves when there is room for more. @throws the error of the upload */
  async add(bytes: Buffer): Promise<void> {
    if (this.destroyed) throw this.errored ?? new AppError('INCOMPLETE_BODY')
    if (this.push(bytes)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resume = resolve
    await promise
    if (this.errored) throw this.errored
  }
}

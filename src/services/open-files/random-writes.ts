/**
 * Writes a file at any position. It becomes visible as a whole when it is stored, and not at all after anything has failed. Content
 * that arrives from the start to the end streams to the back end; what arrives slightly out of order waits in memory; any other order
 * takes a file of this machine. Content that streams is copied into such a file as well up to a bound, so that a program can still
 * go back, as those do that complete a header at the end.
 */
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import type { FileEntry, UploadInput } from '../files/index.ts'
import type { StagedContent } from './staged-file.ts'
import { UploadBody } from './upload-body.ts'
import { type MemoryUse, usualBounds, type WriteBounds } from './write-bounds.ts'

/** Pieces of a file in memory. Each takes some hundred bytes more than it has, so a client must not send single bytes without a bound. */
const maxAhead = 256
const maxChunks = 64

type WriteState =
  /** The entry at the path has the whole content. `etag` is that of the content that this object has stored, if there is one. */
  | { kind: 'stored'; etag: string | null }
  | { kind: 'memory'; chunks: Buffer[]; bytes: number }
  | {
      kind: 'stream'
      body: UploadBody
      bytes: number
      sending: Promise<Stored>
      /** Has the same bytes as the stream. Null beyond the bound. */
      copy: StagedContent | null
    }
  | {
      kind: 'staged'
      file: StagedContent
      /** Whether the file has something that is not stored. */
      isChanged: boolean
      condition: UploadInput['condition']
    }

/** The result of an upload. */
type Stored = Pick<FileEntry, 'etag'>

type StateOf<Kind extends WriteState['kind']> = Extract<WriteState, { kind: Kind }>

export interface RandomWritesOptions {
  /** The member, for the bounds on memory. */
  owner: string
  /** The entry that is changed; null for a new or an emptied file. */
  existing: Pick<FileEntry, 'size' | 'modifiedAt'> | null
  /** Whether the file must be a new one. */
  isNew: boolean
  /** Whether the client also reads the file. It never streams then. */
  reads: boolean
  upload(input: Pick<UploadInput, 'body' | 'size' | 'modifiedAt' | 'condition' | 'conflict'>): Promise<Stored>
  /** Opens an empty staged file. */
  stage(): Promise<StagedContent>
  /** Copies the entry at the path into a staged file, and returns the condition that it has not changed. */
  load(file: StagedContent): Promise<NonNullable<UploadInput['condition']>>
  /** Smaller in tests. */
  bounds?: WriteBounds
}

/** Calls run one after another. After one has failed, all fail with the same error, and nothing more is stored. */
export class RandomWrites implements AsyncDisposable {
  readonly #options: RandomWritesOptions
  readonly #bounds: WriteBounds
  #content: WriteState
  #conflict: 'FAIL' | 'REPLACE'
  /** Bytes that are ahead of the rest, by their positions. They do not overlap. */
  readonly #ahead = new Map<number, Buffer>()
  /** Bytes that this file has taken from the budgets. */
  readonly #taken: Record<MemoryUse, number> = { small: 0, ahead: 0 }
  /** Bytes of the file; null if the back end has not said its size. */
  #size: number | null
  #changedAt: Date
  #modifiedAt: Date | undefined
  #failure: unknown
  #isClosed = false
  readonly #changes = new Limiter(1)

  constructor(options: RandomWritesOptions) {
    const { existing, isNew, bounds = usualBounds } = options
    this.#options = options
    this.#bounds = bounds
    this.#conflict = isNew ? 'FAIL' : 'REPLACE'
    this.#content = existing ? { kind: 'stored', etag: null } : { kind: 'memory', chunks: [], bytes: 0 }
    this.#size = existing ? existing.size : 0
    this.#changedAt = existing?.modifiedAt ?? new Date()
  }

  /** The file as it will be. */
  get entry(): { kind: 'file'; size: number; modifiedAt: Date } {
    return { kind: 'file', size: this.#size ?? 0, modifiedAt: this.#modifiedAt ?? this.#changedAt }
  }

  /** @throws the errors of an upload, also of earlier writes */
  write(position: number | 'end', bytes: Buffer): Promise<void> {
    return this.#inTurn(async () => {
      if (bytes.length === 0) return
      if (this.#content.kind === 'stored') await this.#toStaged()
      const at = position === 'end' ? (this.#size ?? 0) : position
      const content = this.#content
      const isPlaced = 'bytes' in content && (await this.#place(content, at, bytes))
      if (!isPlaced) await this.#changeStaged(file => file.write(at, bytes))
      this.#size = Math.max(this.#size ?? 0, at + bytes.length)
      this.#changedAt = new Date()
    })
  }

  /** @throws as `write`; INVALID_INPUT if too much has been sent to the back end, which is no failure of the file */
  async read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    const bytes = await this.#inTurn(async () => {
      const content = this.#content
      if (content.kind !== 'stream') return (await this.#toStaged()).file.read(target, at, position, length)
      const inOrder = Math.max(0, Math.min(length, content.bytes - position))
      return content.copy ? content.copy.read(target, at, position, inOrder) : null
    })
    if (bytes === null) throw new AppError('INVALID_INPUT', 'The file is too large to be read before it is closed.')
    return bytes
  }

  /** @throws as `write` */
  truncate(size: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#size === null) await this.#toStaged()
      if (size === this.#size) return
      await this.#changeStaged(file => file.truncate(size))
      this.#size = size
      this.#changedAt = new Date()
    })
  }

  /** Sets the modification time of the file. Returns false if no upload that follows will send it. */
  setTime(modifiedAt: Date): boolean {
    this.#modifiedAt = modifiedAt
    const content = this.#content
    return content.kind === 'memory' || (content.kind === 'staged' && content.isChanged)
  }

  /** Makes the content visible. @throws the errors of an upload */
  store(): Promise<void> {
    return this.#inTurn(() => this.#store())
  }

  /** Goes on with the stored file under another name. Call it after `store`, before any other change. @param etag that of the file there */
  moved(etag: string | null): void {
    const content = this.#content
    if (content.kind === 'stored') content.etag = etag
    if (content.kind === 'staged') content.condition = unchanged(etag)
  }

  /** Discards what is not stored, and refuses every later call. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const interrupt = ({ body }: StateOf<'stream'>) =>
      body.destroy(new AppError('INCOMPLETE_BODY', 'The file was not closed.'))
    // A write that waits for the back end ends now.
    if (this.#content.kind === 'stream') interrupt(this.#content)
    // All running work has ended then.
    await this.#changes.run(async () => {})
    const content = this.#content
    this.#content = { kind: 'stored', etag: null }
    this.#ahead.clear()
    this.#release('small')
    this.#release('ahead')
    if (content.kind === 'stream') {
      interrupt(content)
      await content.sending.catch(() => {})
      await content.copy?.[Symbol.asyncDispose]()
    }
    if (content.kind === 'staged') await content.file[Symbol.asyncDispose]()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#changes.run(async () => {
      if (this.#failure) throw this.#failure
      if (this.#isClosed) throw new AppError('INVALID_INPUT', 'The file is closed.')
      try {
        return await work()
      } catch (error) {
        this.#failure ??= error
        throw error
      }
    })
  }

  /** Adds bytes that are next, or keeps those that are slightly ahead. Returns false for any others. */
  async #place(content: StateOf<'memory' | 'stream'>, at: number, bytes: Buffer): Promise<boolean> {
    if (at !== content.bytes) return this.#putAhead(at, bytes, content.bytes)
    this.#coverAhead(at + bytes.length)
    await this.#addInOrder(bytes)
    return true
  }

  #putAhead(at: number, bytes: Buffer, next: number): boolean {
    const end = at + bytes.length
    if (at < next || end > next + this.#bounds.window || this.#ahead.size >= maxAhead) return false
    for (const [other, { length }] of this.#ahead) if (other < end && at < other + length) return false
    if (!this.#take('ahead', bytes.length)) return false
    this.#ahead.set(at, bytes)
    return true
  }

  /** Removes bytes before a position, because newer ones replace them. */
  #coverAhead(end: number): void {
    for (const [position, bytes] of new Map(this.#ahead)) {
      if (position >= end) continue
      const rest = bytes.subarray(end - position)
      this.#ahead.delete(position)
      this.#release('ahead', bytes.length - rest.length)
      if (rest.length > 0) this.#ahead.set(end, rest)
    }
  }

  /** Returns false if the budget has no room for the bytes. */
  #take(use: MemoryUse, bytes: number): boolean {
    if (this.#bounds.memory[use].tryTake(this.#options.owner, bytes) !== null) return false
    this.#taken[use] += bytes
    return true
  }

  #release(use: MemoryUse, bytes = this.#taken[use]): void {
    this.#bounds.memory[use].release(this.#options.owner, bytes)
    this.#taken[use] -= bytes
  }

  async #addInOrder(bytes: Buffer): Promise<void> {
    await this.#add(bytes)
    for (let next = this.#takeAhead(); next; next = this.#takeAhead()) await this.#add(next)
  }

  #takeAhead(): Buffer | undefined {
    const content = this.#content
    if (!('bytes' in content)) return undefined
    const bytes = this.#ahead.get(content.bytes)
    if (!bytes) return undefined
    this.#ahead.delete(content.bytes)
    this.#release('ahead', bytes.length)
    return bytes
  }

  async #add(bytes: Buffer): Promise<void> {
    const content = this.#content
    if (content.kind === 'stream') return send(content, bytes, this.#bounds.copy)
    if (content.kind !== 'memory') return
    const at = content.bytes
    if (at + bytes.length <= this.#bounds.small && this.#take('small', bytes.length)) {
      if (content.chunks.length >= maxChunks) content.chunks = [Buffer.concat(content.chunks)]
      content.chunks.push(bytes)
      content.bytes += bytes.length
    } else if (this.#options.reads) await this.#changeStaged(file => file.write(at, bytes))
    else await send(await this.#startStream(content), bytes, this.#bounds.copy)
  }

  async #startStream({ chunks }: StateOf<'memory'>): Promise<StateOf<'stream'>> {
    // Without a copy, the file can only be written from the start to the end.
    const copy = await this.#options.stage().catch(() => null)
    const body = new UploadBody()
    const sending = this.#upload({ body })
    const content: StateOf<'stream'> = { kind: 'stream', body, bytes: 0, sending, copy }
    this.#content = content
    sending.catch(error => {
      if (this.#content === content) this.#failure ??= error
      body.destroy(error)
    })
    for (const chunk of chunks) await send(content, chunk, this.#bounds.copy)
    this.#release('small')
    return content
  }

  #upload(input: Pick<UploadInput, 'body' | 'size' | 'condition'>): Promise<Stored> {
    const modifiedAt = this.#modifiedAt
    return this.#options.upload({ ...input, conflict: this.#conflict, ...(modifiedAt && { modifiedAt }) })
  }

  async #store(): Promise<void> {
    await this.#fillGaps()
    const content = this.#content
    if (content.kind === 'memory') {
      const { chunks, bytes } = content
      const { etag } = await this.#upload({ body: Readable.from(chunks, { objectMode: false }), size: bytes })
      this.#content = { kind: 'stored', etag }
      this.#release('small')
    } else if (content.kind === 'stream') {
      content.body.finish()
      const { etag } = await content.sending
      this.#content = content.copy
        ? { kind: 'staged', file: content.copy, isChanged: false, condition: unchanged(etag) }
        : { kind: 'stored', etag }
    } else if (content.kind === 'staged' && content.isChanged) {
      const { file, condition } = content
      const { etag } = await this.#upload({ body: file.stream(), size: file.size, condition })
      // The file stays here, so that a program that stores after each write does not read it again each time.
      content.isChanged = false
      content.condition = unchanged(etag)
    }
    this.#conflict = 'REPLACE'
  }

  /** Adds zeros where bytes are missing, as a file system does. The window bounds them. */
  async #fillGaps(): Promise<void> {
    for (const position of [...this.#ahead.keys()].toSorted((a, b) => a - b)) {
      const next = 'bytes' in this.#content ? this.#content.bytes : position
      if (position > next) await this.#addInOrder(Buffer.alloc(position - next))
    }
  }

  async #changeStaged(change: (file: StagedContent) => Promise<void>): Promise<void> {
    const staged = await this.#toStaged()
    staged.isChanged = true
    await change(staged.file)
  }

  async #toStaged(): Promise<StateOf<'staged'>> {
    const content = this.#content
    if (content.kind === 'staged') return content
    const staged = content.kind === 'stream' ? await this.#stopStream(content) : await this.#stage(content)
    for (const [at, bytes] of this.#ahead) await staged.file.write(at, bytes)
    this.#ahead.clear()
    this.#release('ahead')
    this.#release('small')
    return staged
  }

  async #stage(content: StateOf<'stored' | 'memory'>): Promise<StateOf<'staged'>> {
    const file = await this.#options.stage()
    try {
      const condition = content.kind === 'stored' ? await this.#load(file, content.etag) : undefined
      for (const chunk of content.kind === 'memory' ? content.chunks : []) await file.write(file.size, chunk)
      const staged: StateOf<'staged'> = { kind: 'staged', file, condition, isChanged: content.kind === 'memory' }
      this.#content = staged
      return staged
    } catch (error) {
      await file[Symbol.asyncDispose]()
      throw error
    }
  }

  /** @param etag of what must be there, if it is known */
  async #load(file: StagedContent, etag: string | null): Promise<NonNullable<UploadInput['condition']>> {
    const condition = await this.#options.load(file)
    if (etag !== null && !condition(etag)) {
      throw new AppError('PRECONDITION_FAILED', 'Somebody else has changed the file while it was open.')
    }
    this.#size = file.size
    return condition
  }

  /** Bytes that a stream has sent cannot change any more, so the upload ends without storing anything, and the copy replaces it. */
  async #stopStream({ body, sending, copy }: StateOf<'stream'>): Promise<StateOf<'staged'>> {
    if (!copy) {
      throw new AppError(
        'INVALID_INPUT',
        'The file is too large to be changed where it has been written already: write it from the start to the end. It was not stored.',
      )
    }
    const staged: StateOf<'staged'> = { kind: 'staged', file: copy, condition: undefined, isChanged: true }
    this.#content = staged
    body.destroy(
      new AppError('INCOMPLETE_BODY', 'The client has gone back in the file: it is sent again when it is closed.'),
    )
    await sending.catch(() => {})
    return staged
  }
}

/** @param copyBytes the bound on the copy */
async function send(stream: StateOf<'stream'>, bytes: Buffer, copyBytes: number): Promise<void> {
  const { body, bytes: at, copy } = stream
  stream.bytes += bytes.length
  const fits = copy && stream.bytes <= copyBytes
  const isCopied =
    fits &&
    (await copy.write(at, bytes).then(
      () => true,
      () => false,
    ))
  if (copy && !isCopied) {
    stream.copy = null
    await copy[Symbol.asyncDispose]()
  }
  await body.add(bytes)
}

/** Returns the condition that the entry has this ETag; none if the back end has no ETags. */
function unchanged(etag: string | null): UploadInput['condition'] {
  return etag === null ? undefined : current => current === etag
}

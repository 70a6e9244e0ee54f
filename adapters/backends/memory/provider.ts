import { randomUUID } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
import {
  type ByteRange,
  type Call,
  type Entry,
  type ListPage,
  nameOf,
  type ReadResult,
  StorageError,
  type StoragePath,
  type StorageProvider,
  type Traits,
} from '../../contract.ts'
import {
  Budget,
  entryBytes,
  type File,
  indexAfter,
  newId,
  put,
  remove,
  requireSegments,
  Tree,
  toEntry,
} from './tree.ts'

/** Bytes. Each Buffer costs a hundred bytes in addition to its content, and a body may arrive in tiny chunks. */
const blockSize = 64 * 1024

/** Joins the chunks of a body to blocks. */
class Blocks {
  readonly #full: Buffer[] = []
  #block: Buffer | undefined
  #used = 0

  add(piece: Uint8Array): void {
    for (let rest = piece; rest.length > 0; ) {
      this.#block ??= Buffer.allocUnsafeSlow(blockSize)
      const part = rest.subarray(0, blockSize - this.#used)
      this.#block.set(part, this.#used)
      this.#used += part.length
      rest = rest.subarray(part.length)
      if (this.#used === blockSize) this.#cut()
    }
  }

  /** Returns all blocks. Call this after the last chunk. */
  end(): Buffer[] {
    if (this.#used > 0) this.#cut()
    return this.#full
  }

  #cut(): void {
    if (!this.#block) return
    const isFull = this.#used === blockSize
    this.#full.push(isFull ? this.#block : copyOf(this.#block.subarray(0, this.#used)))
    this.#block = undefined
    this.#used = 0
  }
}

/** Copies without the pool of small Buffers, since a pooled copy would keep a whole slab in memory. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

/**
 * The smallest provider that fulfils the contract. It has only the required methods and `quota`, so the host copies, moves and
 * deletes trees with them.
 */
export class MemoryProvider implements StorageProvider {
  readonly traits: Traits = { emptyDirectories: true, keepsModifiedAt: true }
  readonly #tree: Tree
  /** Makes etags unique across restarts, after which the same path may have other bytes. */
  readonly #etagPrefix = randomUUID()
  #writes = 0

  /** @param shared the budget of all providers together */
  constructor(maxBytes: number, shared?: Budget) {
    const refusal = `All files of this provider together can take ${maxBytes} bytes. Delete some first.`
    this.#tree = new Tree(new Budget(maxBytes, refusal, shared))
  }

  async stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    signal.throwIfAborted()
    return toEntry(nameOf(path), this.#tree.find(path))
  }

  async list(
    path: StoragePath,
    { signal, cursor, limit }: Call & { cursor?: string; limit: number },
  ): Promise<ListPage> {
    signal.throwIfAborted()
    const directory = this.#tree.find(path)
    if (directory.kind === 'file') throw new StorageError('NOT_A_DIRECTORY', 'This is a file, not a folder.')
    // The cursor is a name, so it stays valid while entries are added and removed. An offset would skip or repeat entries.
    const { children, names } = directory
    const start = cursor === undefined ? 0 : indexAfter(names, cursor)
    const entries = names.slice(start, start + limit).flatMap(name => {
      const entry = children.get(name)
      return entry ? [toEntry(name, entry)] : []
    })
    const last = entries.at(-1)
    return names.length > start + limit && last ? { entries, cursor: last.name } : { entries }
  }

  async read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    signal.throwIfAborted()
    const file = this.#tree.find(path)
    if (file.kind === 'directory') throw new StorageError('NOT_A_FILE', 'This is a folder, not a file.')
    if (ifMatch !== undefined && ifMatch !== file.etag) {
      throw new StorageError('PRECONDITION_FAILED', 'The file has changed since.')
    }
    if (range && range.offset >= file.size) {
      throw new StorageError('RANGE_NOT_SATISFIABLE', `The range begins past the end: the file has ${file.size} bytes.`)
    }
    const body = Readable.from(slice(file.chunks, range ?? { offset: 0 }), { objectMode: false })
    return { body: addAbortSignal(signal, body), entry: toEntry(nameOf(path), file) }
  }

  async write(
    path: StoragePath,
    body: Readable,
    {
      signal,
      mimeType,
      modifiedAt = new Date(),
      overwrite,
    }: Call & { size?: number; mimeType?: string; modifiedAt?: Date; overwrite: boolean },
  ): Promise<Entry> {
    let reserved = 0
    const reserve = (bytes: number) => {
      this.#tree.budget.take(bytes)
      reserved += bytes
    }
    try {
      this.#refuseExisting(path, overwrite)
      reserve(entryBytes)
      const blocks = new Blocks()
      for await (const chunk of addAbortSignal(signal, body)) {
        reserve(Buffer.byteLength(chunk))
        blocks.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
      }
      signal.throwIfAborted()
      // Check again, as other writes may have ended since. Nothing awaits from here on, so check and write are one step.
      const replaced = this.#refuseExisting(path, overwrite)
      const parent = this.#tree.makeDirectory(requireSegments(path).slice(0, -1), 'NOT_A_DIRECTORY')
      const size = reserved - entryBytes
      const etag = `${this.#etagPrefix}-${++this.#writes}`
      const file: File = {
        kind: 'file',
        id: newId(),
        chunks: blocks.end(),
        size,
        modifiedAt,
        etag,
        mimeType: mimeType ?? null,
      }
      put(parent, nameOf(path), file)
      reserved = replaced ? entryBytes + replaced.size : 0
      return toEntry(nameOf(path), file)
    } catch (error) {
      body.destroy()
      // On an abort the stream fails with an AbortError of its own.
      throw signal.aborted ? signal.reason : error
    } finally {
      this.#tree.budget.giveBack(reserved)
    }
  }

  async delete(path: StoragePath, { signal }: Call): Promise<void> {
    signal.throwIfAborted()
    if (path === '') throw new StorageError('INVALID_PATH', 'The root folder cannot be deleted.')
    const parent = this.#tree.lookUp(requireSegments(path).slice(0, -1))
    const entry = this.#tree.lookUp(requireSegments(path))
    if (parent?.kind !== 'directory' || !entry) return
    if (entry.kind === 'directory' && entry.children.size > 0) {
      throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    }
    remove(parent, nameOf(path))
    this.#tree.budget.giveBack(entryBytes + (entry.kind === 'file' ? entry.size : 0))
  }

  async mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    signal.throwIfAborted()
    if (exclusive) this.#refuseExisting(path, false)
    this.#tree.makeDirectory(requireSegments(path), 'ALREADY_EXISTS')
  }

  async quota({ signal }: Call): Promise<{ used: number; total: number }> {
    signal.throwIfAborted()
    const { used, left } = this.#tree.budget
    return { used, total: used + left }
  }

  async close(): Promise<void> {
    this.#tree.budget.giveBack(this.#tree.budget.used)
  }

  /** Returns the file that a write to `path` replaces. */
  #refuseExisting(path: StoragePath, overwrite: boolean): File | undefined {
    const entry = this.#tree.lookUp(requireSegments(path))
    if (entry && !overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
    if (entry?.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    return entry
  }
}

function* slice(chunks: Iterable<Buffer>, { offset, length = Number.POSITIVE_INFINITY }: ByteRange) {
  let [skip, left] = [offset, length]
  for (const chunk of chunks) {
    const part = chunk.subarray(skip, skip + left)
    skip = Math.max(0, skip - chunk.length)
    left -= part.length
    if (part.length > 0) yield part
    if (left <= 0) return
  }
}

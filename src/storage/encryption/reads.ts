/** Reads files of an encrypted storage, and no more of a stored file than the blocks of a range. */
import { buffer } from 'node:stream/consumers'
import {
  type ByteRange,
  type Call,
  type Entry,
  nameOf,
  type ReadResult,
  StorageError,
  type StoragePath,
  type StorageProvider,
} from '../../../adapters/contract.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { blockBytes, headerBytes, nonceIn, storedBlockBytes } from './blocks.ts'
import { type ContentCipher, damaged } from './content.ts'
import type { StoredEntries } from './entries.ts'
import { hasCode } from './errors.ts'

/** The options of a read for the back end. */
type StoredOptions = Call & { ifMatch?: string; entry?: Entry }
type ReadOptions = StoredOptions & { range?: ByteRange }

/** The nonce of one version of a file. */
interface KnownNonce {
  nonce: Buffer
  etag: string
}

/** Files whose nonce is known, so that a further range of them takes one request. */
const maxNonces = 5000

export class EncryptedReads {
  readonly #inner: StorageProvider
  readonly #entries: StoredEntries
  readonly #content: ContentCipher
  readonly #nonces = new LruMap<StoragePath, KnownNonce>(maxNonces)

  constructor(inner: StorageProvider, entries: StoredEntries, content: ContentCipher) {
    this.#inner = inner
    this.#entries = entries
    this.#content = content
  }

  async read(path: StoragePath, options: ReadOptions): Promise<ReadResult> {
    const stored = this.#entries.names.toStored(path, 'file')
    const { range, entry, ...call } = options
    const storedOptions = { ...call, ...this.#entries.stored(entry, stored) }
    try {
      if (range && range.offset >= blockBytes) return await this.#readFrom(stored, nameOf(path), range, storedOptions)
      return await this.#readStart(stored, nameOf(path), range ?? { offset: 0 }, storedOptions, range !== undefined)
    } catch (error) {
      throw await this.#entries.explained(path, error, call)
    }
  }

  /** Reads a range that begins in the first block, together with the header. */
  async #readStart(
    stored: StoragePath,
    name: string,
    { offset, length }: ByteRange,
    options: StoredOptions,
    isRange: boolean,
  ): Promise<ReadResult> {
    const range =
      length === undefined ? {} : { range: { offset: 0, length: headerBytes + storedLength(offset, length) } }
    const { body, entry } = await this.#inner.read(stored, { ...options, ...range })
    const plain = this.#entries.plain(entry, name)
    if (isRange && plain.size !== null && offset >= plain.size) throw unsatisfiable(body)
    const opened = await this.#content.opened(name, body, null, { skip: offset, length: length ?? Infinity })
    this.#note(stored, entry, opened.nonce)
    if (!opened.content) throw unsatisfiable(body)
    return { body: opened.content, entry: plain }
  }

  /** Reads a range from a later block on. */
  async #readFrom(stored: StoragePath, name: string, range: ByteRange, options: StoredOptions): Promise<ReadResult> {
    const known = this.#nonces.get(stored)
    if (known && (options.ifMatch ?? known.etag) === known.etag) {
      try {
        return await this.#readBlocks(stored, name, range, { ...options, ifMatch: known.etag }, known.nonce)
      } catch (error) {
        if (!hasCode(error, 'PRECONDITION_FAILED')) throw error
        this.#nonces.delete(stored)
        if (options.ifMatch !== undefined) throw error
      }
    }
    const { entry, nonce } = await this.#readHeader(stored, name, options)
    const { size } = this.#entries.plain(entry, name)
    if (size !== null && range.offset >= size) throw unsatisfiable()
    const same = entry.etag === null ? {} : { ifMatch: entry.etag }
    return await this.#readBlocks(stored, name, range, { ...options, ...same }, nonce)
  }

  async #readHeader(
    stored: StoragePath,
    name: string,
    options: StoredOptions,
  ): Promise<{ entry: Entry; nonce: Buffer }> {
    const range = { offset: 0, length: headerBytes }
    const { body, entry } = await this.#inner.read(stored, { ...options, range }).catch(error => {
      throw hasCode(error, 'RANGE_NOT_SATISFIABLE') ? damaged(name, 'It is empty.') : error
    })
    const nonce = nonceIn(await buffer(body))
    if (!nonce) throw damaged(name, 'It has no header.')
    this.#note(stored, entry, nonce)
    return { entry, nonce }
  }

  async #readBlocks(
    stored: StoragePath,
    name: string,
    { offset, length }: ByteRange,
    options: StoredOptions,
    nonce: Buffer,
  ): Promise<ReadResult> {
    const first = Math.floor(offset / blockBytes)
    const skip = offset % blockBytes
    const range = {
      offset: headerBytes + first * storedBlockBytes,
      ...(length !== undefined && { length: storedLength(skip, length) }),
    }
    const { body, entry } = await this.#inner.read(stored, { ...options, range })
    const plain = this.#entries.plain(entry, name)
    if (plain.size !== null && offset >= plain.size) throw unsatisfiable(body)
    const { content } = await this.#content.opened(name, body, { nonce, first }, { skip, length: length ?? Infinity })
    if (!content) throw unsatisfiable(body)
    return { body: content, entry: plain }
  }

  #note(stored: StoragePath, { etag }: Entry, nonce: Buffer): void {
    // A copy, because the bytes may be part of a larger buffer.
    if (etag !== null) this.#nonces.set(stored, { nonce: Buffer.from(nonce), etag })
  }
}

/** Returns the bytes of the blocks that have so many bytes after the first `skip`. */
function storedLength(skip: number, length: number): number {
  return Math.ceil((skip + length) / blockBytes) * storedBlockBytes
}

function unsatisfiable(body?: { destroy(): unknown }): StorageError {
  body?.destroy()
  return new StorageError('RANGE_NOT_SATISFIABLE', 'The range begins after the end of the file.')
}

import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { chunksOf, endedEarly } from '../../bases/cloud/chunks.ts'
import type { WriteOptions } from '../../bases/cloud/provider.ts'
import { alreadyExists, notAFile } from '../../bases/errors.ts'
import { parentOf, StorageError } from '../../contract.ts'
import { type DriveItem, isFolder } from './entry.ts'
import { isRefused, isTaken } from './errors.ts'
import { type DriveItems, type MadeFolder, makeFolders } from './items.ts'
import { QuickXorHash } from './quick-xor-hash.ts'
import { chunkSize, commitOnce, timesOf, UploadSession, uploadWhole, verify, type Written } from './upload.ts'

/**
 * Bytes on the server's disk, of a file whose size is unknown until its end: OneDrive takes no byte before it knows the size.
 * The file has no name, so nothing stays if the server is killed.
 */
class Spool {
  readonly #file: FileHandle
  size = 0

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async create(): Promise<Spool> {
    const path = join(tmpdir(), `stowage-onedrive-${randomUUID()}`)
    const file = await open(path, 'wx+', 0o600)
    try {
      await unlink(path)
      return new Spool(file)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.size + done)
      done += bytesWritten
    }
    this.size += bytes.length
  }

  async *chunks(chunkSize: number): AsyncGenerator<Buffer, void, undefined> {
    for (let offset = 0; offset < this.size; offset += chunkSize) {
      const bytes = Buffer.allocUnsafe(Math.min(chunkSize, this.size - offset))
      for (let done = 0; done < bytes.length; ) {
        const { bytesRead } = await this.#file.read(bytes, done, bytes.length - done, offset + done)
        if (bytesRead === 0) throw new Error('The spool is shorter than what was written to it.')
        done += bytesRead
      }
      yield bytes
    }
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

/** Writes one file. OneDrive creates or replaces it in one step, with its last byte. */
export class Write {
  readonly #items: DriveItems
  readonly #options: WriteOptions
  readonly #hash = new QuickXorHash()
  #session: UploadSession | undefined
  #parents: MadeFolder | undefined

  constructor(items: DriveItems, options: WriteOptions) {
    this.#items = items
    this.#options = options
  }

  async run(body: Readable): Promise<DriveItem> {
    const { signal, path } = this.#options
    try {
      this.#items.addressOf(path)
      return await this.#store(body)
    } catch (error) {
      body.destroy()
      await this.#session?.abort()
      await this.#parents?.undo()
      throw signal.aborted ? signal.reason : error
    }
  }

  async #store(body: Readable): Promise<DriveItem> {
    const { signal, size } = this.#options
    const chunks = chunksOf(addAbortSignal(signal, body), chunkSize)
    const first = await chunks.next()
    signal.throwIfAborted()
    if (first.done) throw endedEarly()
    const { bytes, isLast } = first.value
    if (isLast) return await this.#storeWhole(bytes)
    const rest = async function* () {
      yield bytes
      for await (const chunk of chunks) yield chunk.bytes
    }
    if (size !== undefined) return await this.#storeInParts(rest(), size)
    const spool = await Spool.create()
    try {
      for await (const chunk of rest()) await spool.add(chunk)
      signal.throwIfAborted()
      return await this.#storeInParts(spool.chunks(chunkSize), spool.size)
    } finally {
      await spool.close()
    }
  }

  /** Stores a small file in one request, or in two if it has a time. */
  async #storeWhole(bytes: Buffer): Promise<DriveItem> {
    const { modifiedAt, signal } = this.#options
    if (modifiedAt && bytes.length > 0) return await this.#storeInParts([bytes], bytes.length)
    const written = this.#written(bytes)
    const stored = await this.#withParents(() =>
      commitOnce(this.#items, this.#options, written, () => uploadWhole(this.#items, bytes, this.#options)),
    )
    await this.#verify(stored, written)
    if (!modifiedAt) return stored
    // A session needs at least one byte.
    const url = this.#items.idAddress(stored.id)
    return await this.#items.change({ method: 'PATCH', url, json: timesOf(modifiedAt), repeatable: true, signal })
  }

  /** The session needs the size with the first byte, and creates the file with the last one, so that is sent after the end. */
  async #storeInParts(chunks: Iterable<Buffer> | AsyncIterable<Buffer>, total: number): Promise<DriveItem> {
    let offset = 0
    let last: Buffer | undefined
    for await (const bytes of chunks) {
      this.#session ??= await this.#begin(total)
      if (last) {
        if (offset + last.length >= total) throw wrongSize(total)
        await this.#session.send(last, offset, total)
        offset += last.length
      }
      last = bytes
      this.#hash.update(bytes)
    }
    const session = this.#session
    if (!last || !session || offset + last.length !== total) throw wrongSize(total)
    const [final, start] = [last, offset]
    const written = { size: total, hash: this.#hash.digest() }
    const stored = await commitOnce(this.#items, this.#options, written, attempt =>
      session.finish(final, start, attempt),
    )
    this.#session = undefined
    await this.#verify(stored, written)
    return stored
  }

  async #begin(total: number): Promise<UploadSession> {
    const { path, overwrite, signal } = this.#options
    if (total > chunkSize) {
      // Fail before the bytes are sent if they can never be stored.
      const existing = await this.#items.look(path, signal)
      if (existing && !overwrite) throw alreadyExists()
      if (existing && isFolder(existing)) throw notAFile()
      await this.#items.refuseTooLarge(total, signal)
    }
    try {
      return await this.#withParents(() => UploadSession.begin(this.#items, this.#options))
    } catch (error) {
      if (!isTaken(error)) throw error
      throw overwrite ? notAFile() : alreadyExists()
    }
  }

  /** Runs `work`, and again with the parents of the file if they were missing. */
  async #withParents<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isRefused(error, 404)) throw error
      this.#parents = await makeFolders(this.#items, parentOf(this.#options.path), this.#options.signal)
      return await work()
    }
  }

  async #verify(stored: DriveItem, written: Written): Promise<void> {
    try {
      verify(stored, written)
    } catch (error) {
      if (!this.#options.overwrite) await this.#items.discard(stored)
      throw error
    }
  }

  #written(bytes: Buffer): Written {
    this.#hash.update(bytes)
    return { size: bytes.length, hash: this.#hash.digest() }
  }
}

const wrongSize = (size: number) =>
  new StorageError('UNAVAILABLE', `The body does not have the announced ${size} bytes: send it again.`)

import type { BigIntStats } from 'node:fs'
import { constants, type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { changed, notAFile, notFound } from '../../bases/errors.ts'
import { type Entry, StorageError } from '../../contract.ts'
import { hasErrno, toStorageError } from './errors.ts'
import { inside, self, toEntry } from './names.ts'
import { type Opened, release } from './open.ts'

const chunkBytes = 1024 * 1024

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants
/** Without O_NONBLOCK, open(2) of a FIFO would wait for a writer and block a thread of the pool. */
export const fileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY

export interface OpenedFile {
  /** The caller closes it. */
  handle: FileHandle
  entry: Entry
}

/** Opens a file. @throws NOT_FOUND also for links, FIFOs, sockets and devices; NOT_A_FILE */
export async function openFile(parent: FileHandle, name: string, ifMatch?: string): Promise<OpenedFile> {
  const handle = await open(inside(parent, name), fileFlags).catch(error => {
    // ELOOP: a symbolic link. ENXIO, ENODEV: a socket, or a device without a driver.
    throw hasErrno(error, 'ELOOP', 'ENXIO', 'ENODEV') ? notFound(error) : error
  })
  try {
    return { handle, entry: requireFile(name, await handle.stat({ bigint: true }), ifMatch) }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Opens the file that a handle names, and closes that handle. @throws as `openFile` */
export async function openNamed({ handle: named, stats }: Opened, name: string, ifMatch?: string): Promise<OpenedFile> {
  try {
    const entry = requireFile(name, stats, ifMatch)
    return { handle: await open(self(named), O_RDONLY), entry }
  } finally {
    release(named)
  }
}

/** @throws as `openFile`, PRECONDITION_FAILED */
function requireFile(name: string, stats: BigIntStats, ifMatch: string | undefined): Entry {
  const entry = toEntry(name, stats)
  if (!entry) throw notFound()
  if (entry.kind === 'directory') throw notAFile()
  if (ifMatch !== undefined && entry.etag !== ifMatch) throw changed()
  return entry
}

/**
 * Returns a version that changes with each write, except with two writes within a step of the system's clock
 * (milliseconds).
 */
async function versionOf(handle: FileHandle): Promise<string> {
  const { size, mtimeNs } = await handle.stat({ bigint: true })
  return `${size} ${mtimeNs}`
}

/**
 * Reads the bytes from `start` to `end`, exclusive. It owns the handle. Unlike `fs.createReadStream`, it fails if the file
 * became shorter. It also fails before the last bytes if the file was written to in place, since the bytes may mix two versions.
 * A file that was replaced or deleted by name is still read to its end.
 */
export class FileBody extends Readable {
  readonly #handle: FileHandle
  readonly #end: number
  readonly #signal: AbortSignal
  #position: number
  #version: string | undefined
  #reading: Promise<void> = Promise.resolve()

  constructor(handle: FileHandle, { start, end }: { start: number; end: number }, signal: AbortSignal) {
    super({ highWaterMark: chunkBytes })
    this.#handle = handle
    this.#position = start
    this.#end = end
    this.#signal = signal
    signal.addEventListener('abort', this.#abort, { once: true })
    if (signal.aborted) this.#abort()
  }

  override _read(): void {
    this.#reading = this.#readChunk().catch(error => {
      this.destroy(toStorageError(error) as Error)
    })
  }

  async #readChunk(): Promise<void> {
    const length = Math.min(chunkBytes, this.#end - this.#position)
    if (length === 0) {
      this.push(null)
      return
    }
    this.#version ??= await versionOf(this.#handle)
    const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafeSlow(length), 0, length, this.#position)
    if (bytesRead === 0) {
      throw new StorageError('UNAVAILABLE', 'The file became shorter while it was read. Read it again.')
    }
    this.#position += bytesRead
    if (this.#position === this.#end && (await versionOf(this.#handle)) !== this.#version) {
      throw new StorageError('UNAVAILABLE', 'The file was written to while it was read. Read it again.')
    }
    this.push(buffer.subarray(0, bytesRead))
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#signal.removeEventListener('abort', this.#abort)
    void this.#close().then(closing => process.nextTick(callback, error ?? closing))
  }

  /** Waits for the current read, which must not continue on another file that gets the same descriptor number. */
  async #close(): Promise<Error | null> {
    await this.#reading
    return await this.#handle.close().then(
      () => null,
      error => error,
    )
  }

  readonly #abort = () => {
    this.destroy(this.#signal.reason)
  }
}

/** A body whose bytes are in memory. As with `FileBody`, an abort destroys it. */
export class BytesBody extends Readable {
  readonly #bytes: Uint8Array
  readonly #signal: AbortSignal

  constructor(bytes: Uint8Array, signal: AbortSignal) {
    super()
    this.#bytes = bytes
    this.#signal = signal
    signal.addEventListener('abort', this.#abort, { once: true })
    if (signal.aborted) this.#abort()
  }

  override _read(): void {
    if (this.#bytes.length > 0) this.push(this.#bytes)
    this.push(null)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#signal.removeEventListener('abort', this.#abort)
    callback(error)
  }

  readonly #abort = () => {
    this.destroy(this.#signal.reason)
  }
}

import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, crc32, createDeflateRaw } from 'node:zlib'
import type { ByteSink } from '../send-file.ts'
import {
  dataDescriptor,
  directoryRecord,
  type EntryHeader,
  type EntrySums,
  endOfDirectory,
  localHeader,
  type Method,
  needsLarge,
} from './zip-records.ts'

/** Bytes to keep in memory before spooling to a file. */
const maxMemory = 4 * 1024 * 1024

/** Stores bytes that are read back once: in memory, or in an unnamed temporary file if there are many. */
class Spool {
  #chunks: Buffer[] = []
  #buffered = 0
  #file: FileHandle | null = null
  length = 0

  async add(chunk: Buffer): Promise<void> {
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    this.length += chunk.length
    if (this.#buffered < maxMemory) return
    this.#file ??= await openUnnamed()
    await this.#file.appendFile(Buffer.concat(this.#chunks))
    this.#chunks = []
    this.#buffered = 0
  }

  /** Yields the bytes in order. A chunk is valid until the next one is requested. */
  async *read(): AsyncGenerator<Buffer, void, undefined> {
    if (this.#file) {
      const buffer = Buffer.allocUnsafeSlow(256 * 1024)
      for (let position = 0; ; ) {
        const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, position)
        if (bytesRead === 0) break
        position += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    }
    yield* this.#chunks
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }
}

/** The file is unlinked at once, so the kernel frees it when the process ends, even after a kill. */
async function openUnnamed(): Promise<FileHandle> {
  const path = join(tmpdir(), `stowage-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** Bytes of the write buffer; it keeps the records of a small file in one packet. */
const bufferSize = 64 * 1024

interface ZipFile {
  name: string
  modifiedAt: Date | null
  /** In bytes; null if unknown. */
  size: number | null
  method: Method
}

/** Writes a ZIP file from front to back, one entry after the other, in constant memory. */
export class ZipWriter {
  readonly #write: (chunk: Buffer) => Promise<void>
  readonly #directory = new Spool()
  readonly #buffer = Buffer.allocUnsafeSlow(bufferSize)
  #used = 0
  #position = 0
  #count = 0

  /** @param write resolves once the chunk can be reused */
  constructor(write: (chunk: Buffer) => Promise<void>) {
    this.#write = write
  }

  /** @param name without a trailing `/` */
  async folder(name: string, modifiedAt: Date | null): Promise<void> {
    const utf8 = Buffer.from(`${name}/`)
    const entry: EntryHeader = { name: utf8, modifiedAt, isFolder: true, method: 'stored', isLarge: false }
    await this.#addToDirectory(entry, { crc32: 0, compressedSize: 0, size: 0 }, this.#position)
    await this.#put(localHeader(entry))
  }

  /** @param send writes the content; if it rejects, this rejects with the same error and the archive is unusable */
  async file(
    { name, modifiedAt, size, method }: ZipFile,
    send: (sink: ByteSink, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const isLarge = needsLarge(size)
    const entry: EntryHeader = { name: Buffer.from(name), modifiedAt, isFolder: false, method, isLarge }
    const offset = this.#position
    await this.#put(localHeader(entry))
    const sums = await (method === 'stored' ? this.#store(send, signal) : this.#deflate(send, signal))
    await this.#put(dataDescriptor(entry, sums))
    await this.#addToDirectory(entry, sums, offset)
  }

  async end(): Promise<void> {
    const offset = this.#position
    for await (const chunk of this.#directory.read()) await this.#put(chunk)
    await this.#put(endOfDirectory({ count: this.#count, offset, length: this.#directory.length }))
    await this.#flush()
  }

  /** Frees the spool. Call it also after a failure. */
  close(): Promise<void> {
    return this.#directory.close()
  }

  async #store(send: (sink: ByteSink, signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<EntrySums> {
    const counter = new Counter((chunk, done) => void whenDone(this.#put(chunk), done))
    await send(counter, signal)
    return { crc32: counter.crc32, compressedSize: counter.bytes, size: counter.bytes }
  }

  async #deflate(
    send: (sink: ByteSink, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<EntrySums> {
    const deflate = createDeflateRaw({ level: constants.Z_BEST_SPEED })
    const counter = new Counter((chunk, done) => deflate.write(chunk, done))
    // A destroyed stream never calls back for a queued chunk, so the signal has to end the wait.
    const stop = new AbortController()
    const feeding = send(counter, AbortSignal.any([signal, stop.signal])).then(
      () => deflate.end(),
      error => deflate.destroy(error),
    )
    let compressedSize = 0
    try {
      for await (const chunk of deflate as AsyncIterable<Buffer>) {
        compressedSize += chunk.length
        await this.#put(chunk)
      }
    } finally {
      stop.abort()
      await feeding
    }
    return { crc32: counter.crc32, compressedSize, size: counter.bytes }
  }

  async #addToDirectory(entry: EntryHeader, sums: EntrySums, offset: number): Promise<void> {
    this.#count++
    await this.#directory.add(directoryRecord(entry, sums, offset))
  }

  async #put(chunk: Buffer): Promise<void> {
    this.#position += chunk.length
    if (this.#used + chunk.length > bufferSize) await this.#flush()
    if (chunk.length >= bufferSize) await this.#write(chunk)
    else {
      chunk.copy(this.#buffer, this.#used)
      this.#used += chunk.length
    }
  }

  async #flush(): Promise<void> {
    const chunk = this.#buffer.subarray(0, this.#used)
    this.#used = 0
    if (chunk.length > 0) await this.#write(chunk)
  }
}

class Counter implements ByteSink {
  readonly #next: (chunk: Buffer, done: (error?: Error | null) => void) => unknown
  crc32 = 0
  bytes = 0

  constructor(next: (chunk: Buffer, done: (error?: Error | null) => void) => unknown) {
    this.#next = next
  }

  write(chunk: Uint8Array, done: (error?: Error | null) => void): void {
    this.crc32 = crc32(chunk, this.crc32)
    this.bytes += chunk.length
    this.#next(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength), done)
  }
}

async function whenDone(work: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    return done(error instanceof Error ? error : new Error('The archive could not be written', { cause: error }))
  }
  done()
}

/** A file of this machine for content that arrives in any order, until it can be sent to the back end. */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { ByteBudget } from '../../lib/byte-budget.ts'

const gibibyte = 1024 ** 3
/** Bytes of the staged files of all processes of a server, and of one member in a process. */
const totalBytes = 64 * gibibyte
const bytesOfMember = 16 * gibibyte
/** The part of the disk that stays free for everything else, such as the included PostgreSQL, and the bytes that are enough for it. */
const usuallyFree = { share: 0.1, bytes: 5 * gibibyte }
/** Milliseconds for which a look at the disk holds. */
const lookTime = 1000
const noSpaceCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EINVAL'])
/** Bytes of a read. */
const chunkBytes = 256 * 1024

/** The part of `StagedFile` that those who write a file use. */
export type StagedContent = Pick<
  StagedFile,
  'size' | 'write' | 'truncate' | 'read' | 'stream' | typeof Symbol.asyncDispose
>

/** The folder of the staged files of this process, and the room that they have. */
export class StagingFolder {
  readonly #path: string
  readonly #budget: ByteBudget
  readonly #free: typeof usuallyFree
  /** Bytes that can be written until the next look at the disk. */
  #room = 0
  #lookedAt = Number.NEGATIVE_INFINITY

  /** @param processes of this server @param free what stays free of the disk */
  constructor(path: string, processes: number, free = usuallyFree) {
    this.#path = path
    this.#free = free
    const total = Math.floor(totalBytes / processes)
    this.#budget = new ByteBudget({ total, ofOwner: Math.min(total, bytesOfMember) })
  }

  /** Opens an empty file. @param owner the member */
  async create(owner: string): Promise<StagedFile> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 })
    const path = join(this.#path, randomUUID())
    const handle = await open(path, 'wx+', 0o600)
    try {
      await unlink(path)
    } catch (error) {
      await handle.close()
      throw error
    }
    return new StagedFile(this, handle, owner)
  }

  /** Takes bytes of the budget. @throws QUOTA_EXCEEDED */
  take(owner: string, bytes: number): void {
    if (this.#budget.tryTake(owner, bytes) !== null) throw noSpace()
  }

  release(owner: string, bytes: number): void {
    this.#budget.release(owner, bytes)
  }

  /** Requires that the disk has room for bytes that are about to be written. @throws QUOTA_EXCEEDED */
  async requireRoom(bytes: number): Promise<void> {
    if (bytes > this.#room || performance.now() - this.#lookedAt > lookTime) await this.#look()
    if (bytes > this.#room) throw noSpace()
    this.#room -= bytes
  }

  async #look(): Promise<void> {
    const { bsize, blocks, bavail } = await statfs(this.#path)
    this.#room = bsize * bavail - Math.min(this.#free.bytes, bsize * blocks * this.#free.share)
    this.#lookedAt = performance.now()
  }
}

/** The file has no name, so it goes with its handle, also if the server is killed. */
export class StagedFile implements AsyncDisposable {
  readonly #folder: StagingFolder
  readonly #handle: FileHandle
  readonly #owner: string
  /** Bytes. */
  size = 0
  #taken = 0
  #isClosed = false

  constructor(folder: StagingFolder, handle: FileHandle, owner: string) {
    this.#folder = folder
    this.#handle = handle
    this.#owner = owner
  }

  /** @throws QUOTA_EXCEEDED if this machine has no room for it */
  async write(position: number, bytes: Buffer): Promise<void> {
    this.#reserve(position + bytes.length)
    await this.#folder.requireRoom(bytes.length)
    let written = 0
    while (written < bytes.length) {
      const rest = bytes.length - written
      const result = await this.#handle.write(bytes, written, rest, position + written).catch(noRoom)
      written += result.bytesWritten
    }
    this.size = Math.max(this.size, position + bytes.length)
  }

  /** @throws QUOTA_EXCEEDED */
  async truncate(size: number): Promise<void> {
    this.#reserve(size)
    await this.#handle.truncate(size).catch(noRoom)
    this.size = size
    this.#folder.release(this.#owner, this.#taken - size)
    this.#taken = size
  }

  async read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    const { bytesRead } = await this.#handle.read(
      target,
      at,
      Math.min(length, Math.max(0, this.size - position)),
      position,
    )
    return bytesRead
  }

  stream(): Readable {
    return Readable.from(this.#chunks(), { objectMode: false, highWaterMark: chunkBytes })
  }

  async *#chunks(): AsyncGenerator<Buffer, void, undefined> {
    for (let position = 0; position < this.size; ) {
      const chunk = Buffer.allocUnsafe(chunkBytes)
      const length = await this.read(chunk, 0, position, chunkBytes)
      if (length === 0) return
      yield chunk.subarray(0, length)
      position += length
    }
  }

  /** A hole counts like content, because it is sent as zeros. */
  #reserve(end: number): void {
    if (this.#isClosed) throw new AppError('INCOMPLETE_BODY', 'The file was closed.')
    if (end <= this.#taken) return
    this.#folder.take(this.#owner, end - this.#taken)
    this.#taken = end
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#folder.release(this.#owner, this.#taken)
    this.#taken = 0
    await this.#handle.close()
  }
}

function noRoom(cause: unknown): never {
  throw noSpaceCodes.has((cause as NodeJS.ErrnoException).code ?? '') ? noSpace(cause) : cause
}

function noSpace(cause?: unknown): AppError {
  return new AppError(
    'QUOTA_EXCEEDED',
    'The server has no room for files that are written out of order: write them from the start to the end, or try again later.',
    { cause },
  )
}

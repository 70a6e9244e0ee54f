/** A file of this machine for content that arrives in any order, until it can be sent to the back end. */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { ByteBudget } from '../../lib/byte-budget.ts'

const gibibyte = 1024 ** 3
/** Bytes of all staged files of this process. */
const budget = new ByteBudget({ total: 64 * gibibyte, ofOwner: 16 * gibibyte })
const noSpaceCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EINVAL'])
/** Bytes of a read. */
const chunkBytes = 256 * 1024

/** The part of `StagedFile` that those who write a file use. */
export type StagedContent = Pick<
  StagedFile,
  'size' | 'write' | 'truncate' | 'read' | 'stream' | typeof Symbol.asyncDispose
>

/** The file has no name, so it goes with its handle, also if the server is killed. */
export class StagedFile implements AsyncDisposable {
  readonly #handle: FileHandle
  readonly #owner: string
  /** Bytes. */
  size = 0
  #taken = 0
  #isClosed = false

  private constructor(handle: FileHandle, owner: string) {
    this.#handle = handle
    this.#owner = owner
  }

  /** @param folder is made if it is missing @param owner the member */
  static async create(folder: string, owner: string): Promise<StagedFile> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, randomUUID())
    const handle = await open(path, 'wx+', 0o600)
    try {
      await unlink(path)
    } catch (error) {
      await handle.close()
      throw error
    }
    return new StagedFile(handle, owner)
  }

  /** @throws QUOTA_EXCEEDED if this machine has no room for it */
  async write(position: number, bytes: Buffer): Promise<void> {
    this.#reserve(position + bytes.length)
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
    budget.release(this.#owner, this.#taken - size)
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
    if (budget.tryTake(this.#owner, end - this.#taken) !== null) throw noSpace()
    this.#taken = end
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    budget.release(this.#owner, this.#taken)
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

import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Bytes on the server's disk, of a file whose size is unknown until its end: OneDrive takes no byte before it knows the size.
 * The file has no name, so nothing stays if the server is killed.
 */
export class Spool {
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

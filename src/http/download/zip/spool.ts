import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes held in memory, beyond which a file takes them. */
const held = 4 * 1024 * 1024

/** Bytes that are written first and read once afterwards: in memory, or where they are many in a file without a name. */
export class Spool {
  #chunks: Buffer[] = []
  #held = 0
  #file: FileHandle | null = null
  length = 0

  async add(chunk: Buffer): Promise<void> {
    this.#chunks.push(chunk)
    this.#held += chunk.length
    this.length += chunk.length
    if (this.#held < held) return
    this.#file ??= await openUnnamed()
    await this.#file.appendFile(Buffer.concat(this.#chunks))
    this.#chunks = []
    this.#held = 0
  }

  /** In the order in which they came; a chunk is good until the next one. */
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

/** Gone with its handle, also when the process is killed. */
async function openUnnamed(): Promise<FileHandle> {
  const path = join(tmpdir(), `stowage-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

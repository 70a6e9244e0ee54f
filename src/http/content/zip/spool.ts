import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes to keep in memory before spooling to a file. */
const maxMemory = 4 * 1024 * 1024

/** Stores bytes that are read back once: in memory, or in an unnamed temporary file if there are many. */
export class Spool {
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

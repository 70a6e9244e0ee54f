import { AppError } from '../../errors.ts'
import { openContent } from '../../http/content/file-content.ts'
import { type ByteSink, TruncatedContent } from '../../http/content/send-file.ts'
import type { Download } from '../../services/files/index.ts'

interface FilePart {
  bytes: Buffer
  /** Whether the file ends here. */
  isEnd: boolean
}

/**
 * Reads at most `length` bytes of a file into memory.
 * @throws RANGE_NOT_SATISFIABLE; UNAVAILABLE if the file changes meanwhile; as `openContent`
 */
export async function readPart(
  download: Download,
  { offset, length }: { offset: number; length: number },
  signal: AbortSignal,
): Promise<FilePart> {
  const { size } = download.entry
  if (size !== null && offset > 0 && offset >= size) {
    throw new AppError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes, so no part of it begins at ${offset}.`)
  }
  if (size === 0) return { bytes: Buffer.alloc(0), isEnd: true }
  const span = size === null ? null : { first: offset, last: Math.min(offset + length, size) - 1 }
  const part = new PartSink(span ? 0 : offset, length)
  const content = await openContent(download, [span], signal)
  try {
    await content.send(part, span, signal)
  } catch (error) {
    if (error instanceof TruncatedContent) {
      throw new AppError('UNAVAILABLE', 'The file is being changed: try again.', { cause: error })
    }
    if (!part.isFull) throw error
  } finally {
    await content.close()
  }
  return { bytes: part.bytes, isEnd: size === null ? !part.isFull : offset + length >= size }
}

/** Keeps a part of the bytes that are written to it, and fails when it has all of them and there are more. */
class PartSink implements ByteSink {
  readonly #chunks: Buffer[] = []
  #skip: number
  #missing: number
  isFull = false

  constructor(skip: number, length: number) {
    this.#skip = skip
    this.#missing = length
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  write(chunk: Uint8Array, done: (error?: Error | null) => void): void {
    const start = Math.min(this.#skip, chunk.length)
    const end = Math.min(start + this.#missing, chunk.length)
    this.#skip -= start
    this.#missing -= end - start
    // The caller reuses the chunk.
    this.#chunks.push(Buffer.from(chunk.subarray(start, end)))
    this.isFull = end < chunk.length
    done(this.isFull ? new Error('The part is complete') : null)
  }
}

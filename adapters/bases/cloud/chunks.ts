/** Bodies in chunks, for vendors that take one chunk after the other. */
import { addAbortSignal, type Readable } from 'node:stream'
import { type Call, StorageError } from '../../contract.ts'

export interface Chunk {
  bytes: Buffer
  isLast: boolean
}

/** Yields chunks of `chunkSize` bytes and marks the last one. Destroys `body` when the caller stops early. */
export async function* chunksOf(body: Readable, chunkSize: number): AsyncGenerator<Chunk, void, undefined> {
  let buffered: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    let rest: Uint8Array = typeof piece === 'string' ? Buffer.from(piece) : piece
    while (size + rest.byteLength > chunkSize) {
      const part = rest.subarray(0, chunkSize - size)
      const bytes = Buffer.concat([...buffered, part])
      rest = rest.subarray(part.byteLength)
      // Clear this before the wait, so that the joined bytes are not in memory twice.
      buffered = []
      size = 0
      yield { bytes, isLast: false }
    }
    // Copy a small rest, because it may be a view that keeps a large block in memory.
    buffered.push(rest.byteLength < 4096 ? Buffer.from(rest) : rest)
    size += rest.byteLength
    if (buffered.length > 1024) buffered = [Buffer.concat(buffered)]
  }
  const bytes = Buffer.concat(buffered)
  buffered = []
  yield { bytes, isLast: true }
}

export const endedEarly = () => new StorageError('UNAVAILABLE', 'The upload ended early: try again.')

/** One call of an upload: `size` bytes at `offset`. */
export interface BlockOptions extends Call {
  offset: number
  size: number
}

/**
 * Yields the chunks of `body` without the bytes that the vendor already has. The last chunk may be empty.
 * @param received the number of bytes of the upload that the vendor has
 * @throws UNAVAILABLE before the last chunk if the body does not have `size` bytes
 */
export async function* unsent(
  body: Readable,
  { signal, offset, size, chunkSize }: BlockOptions & { chunkSize: number },
  received: number,
): AsyncGenerator<Chunk, void, undefined> {
  let position = offset
  for await (const { bytes, isLast } of chunksOf(addAbortSignal(signal, body), chunkSize)) {
    const end = position + bytes.length
    if (end > offset + size || (isLast && end < offset + size)) {
      throw new StorageError('UNAVAILABLE', `The body does not have the announced ${size} bytes: send it again.`)
    }
    const rest = bytes.subarray(Math.max(0, received - position))
    if (rest.length > 0 || isLast) yield { bytes: rest, isLast }
    position = end
  }
}

/** @throws PRECONDITION_FAILED where the bytes that the vendor has do not end within this call's bytes */
export function requireWithin(received: number, { offset, size }: BlockOptions): void {
  if (received >= offset && received <= offset + size) return
  const message = `${received} bytes of the upload have arrived, but ${offset} are expected: start it again.`
  throw new StorageError('PRECONDITION_FAILED', message)
}

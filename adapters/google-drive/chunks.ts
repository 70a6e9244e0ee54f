import { addAbortSignal, type Readable } from 'node:stream'
import { type Call, StorageError } from '../contract.ts'

/** Bytes that one upload holds in memory. Every chunk but the last must be a multiple of 256 KiB. */
export const chunkSize = 8 * 1024 * 1024

export interface Chunk {
  bytes: Buffer
  isLast: boolean
}

/** Yields chunks and marks the last one. Destroys `body` when the caller stops early. */
export async function* chunksOf(body: Readable): AsyncGenerator<Chunk, void, undefined> {
  let gathered: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    let rest: Uint8Array = typeof piece === 'string' ? Buffer.from(piece) : piece
    while (size + rest.byteLength > chunkSize) {
      const part = rest.subarray(0, chunkSize - size)
      const bytes = Buffer.concat([...gathered, part])
      rest = rest.subarray(part.byteLength)
      // Clear this before the wait, so that the joined bytes are not in memory twice.
      gathered = []
      size = 0
      yield { bytes, isLast: false }
    }
    // A copy, as a small piece may be a view of a large block.
    gathered.push(rest.byteLength < 4096 ? Buffer.from(rest) : rest)
    size += rest.byteLength
    if (gathered.length > 1024) gathered = [Buffer.concat(gathered)]
  }
  const bytes = Buffer.concat(gathered)
  gathered = []
  yield { bytes, isLast: true }
}

/** The bytes of one call of an upload: `size` at `offset`. */
export interface Stretch extends Call {
  offset: number
  size: number
}

/**
 * The chunks of `body` without what had arrived of them before; the last one may be left empty.
 * @param stands bytes that have arrived
 * @throws UNAVAILABLE where it has not `size` bytes; that is found out before the last chunk
 */
export async function* unsent(
  body: Readable,
  { signal, offset, size }: Stretch,
  stands: number,
): AsyncGenerator<Chunk, void, undefined> {
  let position = offset
  for await (const { bytes, isLast } of chunksOf(addAbortSignal(signal, body))) {
    const end = position + bytes.length
    if (end > offset + size || (isLast && end < offset + size)) {
      throw new StorageError('UNAVAILABLE', `Not ${size} bytes came, as were announced: send them again.`)
    }
    const rest = bytes.subarray(Math.max(0, stands - position))
    if (rest.length > 0 || isLast) yield { bytes: rest, isLast }
    position = end
  }
}

/** @throws PRECONDITION_FAILED where what has arrived is not a beginning of what is sent */
export function requireWithin(stands: number, { offset, size }: Stretch): void {
  if (stands >= offset && stands <= offset + size) return
  const message = `Google Drive has ${stands} bytes of the upload, where ${offset} were to be there: start it again.`
  throw new StorageError('PRECONDITION_FAILED', message)
}

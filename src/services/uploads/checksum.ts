import { createHash } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { detach } from '../../storage/pipe-body.ts'
import type { ChecksumBuffer } from './memory-budget.ts'

export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5'] as const

/** The checksum that the body of a request must have. */
export interface Checksum {
  algorithm: (typeof checksumAlgorithms)[number]
  digest: Buffer
}

/** The maximum size of a body with a checksum, because it is buffered until the checksum is verified. */
const maxBytes = 16 * 1024 * 1024

/**
 * Buffers a body and returns its bytes if the checksum matches.
 * @param buffer accounts for the memory @param stop cancels reading @throws TOO_LARGE, CHECKSUM_MISMATCH, UNAVAILABLE, the signal's reason
 */
export async function verifyChecksum(
  body: Readable,
  { algorithm, digest }: Checksum,
  buffer: ChecksumBuffer,
  stop: AbortSignal,
): Promise<Readable> {
  const hash = createHash(algorithm)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of addAbortSignal(stop, detach(body))) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new AppError('TOO_LARGE', `A request with a checksum has at most ${maxBytes} bytes.`)
      buffer.add(chunk.length)
      hash.update(chunk)
      chunks.push(chunk)
    }
  } catch (error) {
    throw stop.aborted ? stop.reason : error
  }
  if (!hash.digest().equals(digest)) {
    throw new AppError('CHECKSUM_MISMATCH', 'The bytes do not match the Upload-Checksum: send them again.')
  }
  return Readable.from(chunks, { objectMode: false })
}

import { createHash } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import type { ChecksumBuffer } from './memory-budget.ts'
import { detach } from './receive.ts'

export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5'] as const

/** What the bytes of one request have to be. */
export interface Checksum {
  algorithm: (typeof checksumAlgorithms)[number]
  digest: Buffer
}

/** Bytes of a request with a checksum: they are held until it is known to be right. */
const maxBytes = 16 * 1024 * 1024

/**
 * The same bytes, once they are known to have the checksum.
 * @param held counts them @param stop ends the body @throws TOO_LARGE, CHECKSUM_MISMATCH, UNAVAILABLE, the signal's reason
 */
export async function checked(
  body: Readable,
  { algorithm, digest }: Checksum,
  held: ChecksumBuffer,
  stop: AbortSignal,
): Promise<Readable> {
  const hash = createHash(algorithm)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of addAbortSignal(stop, detach(body))) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new AppError('TOO_LARGE', `A request with a checksum has at most ${maxBytes} bytes.`)
      held.add(chunk.length)
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

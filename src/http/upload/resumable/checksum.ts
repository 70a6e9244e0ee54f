import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { AppError } from '../../../errors.ts'

export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5'] as const

/** Bytes of a request with a checksum: they are held until it is known to be right. */
const maxBytes = 16 * 1024 * 1024

/**
 * The same bytes, once they have the checksum that the header tells (tus 1.0, Checksum extension): `sha1 <base64>`.
 * @throws INVALID_INPUT, TOO_LARGE, CHECKSUM_MISMATCH
 */
export async function checked(body: Readable, header: string): Promise<Readable> {
  const [name, base64 = '', ...rest] = header.split(' ')
  const algorithm = checksumAlgorithms.find(known => known === name)
  if (!algorithm || base64 === '' || rest.length > 0) {
    const known = checksumAlgorithms.join(', ')
    throw new AppError(
      'INVALID_INPUT',
      `The Upload-Checksum header reads "<algorithm> <base64>", with one of ${known}.`,
    )
  }
  const hash = createHash(algorithm)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new AppError('TOO_LARGE', `A request with a checksum has at most ${maxBytes} bytes.`)
    hash.update(chunk)
    chunks.push(chunk)
  }
  if (!hash.digest().equals(Buffer.from(base64, 'base64'))) {
    throw new AppError('CHECKSUM_MISMATCH', 'The bytes do not match the Upload-Checksum: send them again.')
  }
  return Readable.from(chunks, { objectMode: false })
}

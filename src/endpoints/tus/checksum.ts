import { AppError } from '../../errors.ts'
import { type Checksum, checksumAlgorithms } from '../../services/uploads/checksum.ts'

/** Parses an `Upload-Checksum` header (tus 1.0, Checksum extension): `sha1 <base64>`. @throws INVALID_INPUT */
export function parseChecksum(header: string): Checksum {
  const [name, base64 = '', ...rest] = header.split(' ')
  const algorithm = checksumAlgorithms.find(known => known === name)
  if (!algorithm || base64 === '' || rest.length > 0) {
    const known = checksumAlgorithms.join(', ')
    throw new AppError(
      'INVALID_INPUT',
      `The Upload-Checksum header must be "<algorithm> <base64>", where the algorithm is one of ${known}.`,
    )
  }
  return { algorithm, digest: Buffer.from(base64, 'base64') }
}

import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import { parseDigests } from '../../http/content/digests.ts'
import type { Digests } from '../../services/files/index.ts'
import { S3Error } from './failure.ts'

/** Returns the digests that a body must have. @throws S3Error for a malformed one */
export function bodyDigests(headers: IncomingHttpHeaders): Digests {
  try {
    return parseDigests(headers)
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'INVALID_INPUT') throw error
    throw new S3Error('InvalidDigest', error.message, error)
  }
}

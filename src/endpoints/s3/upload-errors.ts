import { AppError } from '../../errors.ts'
import { S3Error } from './failure.ts'
import { explainBucket } from './no-such-bucket.ts'

/** The services report a missing upload as they report a missing file. @throws S3Error, or the error itself */
export function explainUpload(error: unknown, providerId: string): never {
  const explained = explainBucket(error, providerId)
  if (explained instanceof S3Error || !(explained instanceof AppError) || explained.reason !== 'NOT_FOUND') {
    throw explained
  }
  throw new S3Error('NoSuchUpload', 'There is no such upload, or it has ended: begin a new one.', error)
}

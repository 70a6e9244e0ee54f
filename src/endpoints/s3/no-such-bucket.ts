import { AppError } from '../../errors.ts'
import { noProvider } from '../../services/providers/index.ts'
import { S3Error } from './failure.ts'

/** The services report a missing bucket as they report a missing file. */
export function explainBucket(error: unknown, providerId: string): unknown {
  if (providerId !== noProvider || !(error instanceof AppError) || error.reason !== 'NOT_FOUND') return error
  return new S3Error('NoSuchBucket', 'You have no bucket with this name.', error)
}

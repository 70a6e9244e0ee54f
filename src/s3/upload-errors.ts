import { AppError } from '../errors.ts'
import { S3Error } from './failure.ts'

/** The services report a missing upload as they report a missing file. @throws S3Error, or the error itself */
export function explainUpload(error: unknown): never {
  if (!(error instanceof AppError) || error.reason !== 'NOT_FOUND') throw error
  throw new S3Error('NoSuchUpload', 'There is no such upload, or it has ended: begin a new one.', error)
}

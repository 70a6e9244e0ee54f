import { AppError } from '../../../errors.ts'

class EndedUpload extends AppError {}

export function endedUpload(): AppError {
  return new EndedUpload('NOT_FOUND', 'There is no such upload, or it has ended: begin a new one.')
}

/** Returns whether the error is about the upload, and not about the source of a copied part. */
export function isEndedUpload(error: unknown): boolean {
  return error instanceof EndedUpload
}

export function missingPart(number: number): AppError {
  return new AppError('PART_MISSING', `Part ${number} is missing or is another version: send it again.`)
}

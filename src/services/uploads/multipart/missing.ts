import { AppError } from '../../../errors.ts'

export function endedUpload(): AppError {
  return new AppError('NOT_FOUND', 'There is no such upload, or it has ended: begin a new one.')
}

export function missingPart(number: number): AppError {
  return new AppError('PART_MISSING', `Part ${number} is missing or is another version: send it again.`)
}

import { AppError, type Reason } from '../../../errors.ts'

/** The entry was deleted, or its folder was replaced by a file, or the back end supports no such name. */
const gone: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER', 'INVALID_PATH'])

export function isGone(error: unknown): boolean {
  return error instanceof AppError && gone.has(error.reason)
}

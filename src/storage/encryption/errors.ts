/** The errors of an encrypted storage that the back end cannot report, because it sees other names. */
import { StorageError, type StorageErrorCode } from '../../../adapters/contract.ts'
import { isStorageError } from '../adapter-call.ts'

export function hasCode(error: unknown, ...codes: readonly StorageErrorCode[]): boolean {
  return isStorageError(error) && codes.includes(error.code)
}

/** Returns null for a missing entry. @throws any other error */
export function nullIfMissing(error: unknown): null {
  if (hasCode(error, 'NOT_FOUND')) return null
  throw error
}

export const notFound = () => new StorageError('NOT_FOUND', 'There is nothing at this path.')
export const alreadyExists = () => new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
export const notAFile = () => new StorageError('NOT_A_FILE', 'There is a folder at this path.')
/** For a path with a parent that is a file. */
export const notADirectory = () => new StorageError('NOT_A_DIRECTORY', 'Something on this path is not a folder.')
/** For the path of a file that is used as that of a folder. */
export const notAFolder = () => new StorageError('NOT_A_DIRECTORY', 'There is a file at this path, not a folder.')
export const uploadNotFound = () => new StorageError('NOT_FOUND', 'There is no such upload: begin again.')
export const otherOffset = (received: number) =>
  new StorageError('PRECONDITION_FAILED', `The upload has ${received} bytes: continue from there.`)

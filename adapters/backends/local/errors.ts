import { StorageError, type StorageErrorCode } from '../../contract.ts'

const unavailable = 'The disk reported an unexpected error. Try again; if it persists, see the server log.'
const denied = 'The server has no permission for this: check the owner and the permissions of the folder.'
const full = 'The disk, or the quota on it, is full: free some space.'

/** The code and message for each error of a system call (errno(3)). */
const meanings: Record<string, readonly [StorageErrorCode, string]> = {
  ENOENT: ['NOT_FOUND', 'There is nothing at this path.'],
  EEXIST: ['ALREADY_EXISTS', 'There is something at this path already.'],
  ENOTEMPTY: ['NOT_EMPTY', 'The folder is not empty.'],
  EISDIR: ['NOT_A_FILE', 'There is a folder at this path.'],
  ENOTDIR: ['NOT_A_DIRECTORY', 'Something on this path is not a folder.'],
  ELOOP: ['NOT_A_DIRECTORY', 'Something on this path is not a folder.'],
  ENAMETOOLONG: ['INVALID_PATH', 'A name on this path is too long for the disk.'],
  EILSEQ: ['INVALID_PATH', 'The disk cannot store a name on this path.'],
  EINVAL: ['INVALID_PATH', 'The disk cannot store a name on this path.'],
  EACCES: ['PERMISSION_DENIED', denied],
  EPERM: ['PERMISSION_DENIED', denied],
  EROFS: ['PERMISSION_DENIED', 'The disk is mounted read-only.'],
  EBUSY: ['IN_USE', 'Another program has this open, or another disk is mounted there: close it, or try again later.'],
  ETXTBSY: ['IN_USE', 'Another program has this open: close it there, or try again later.'],
  EXDEV: ['NOT_IN_ONE_STEP', 'The destination is on another disk: the file is copied there, then deleted here.'],
  ENOSPC: ['QUOTA_EXCEEDED', full],
  EDQUOT: ['QUOTA_EXCEEDED', full],
  EFBIG: ['QUOTA_EXCEEDED', 'The file is larger than the disk can store.'],
  EMLINK: ['QUOTA_EXCEEDED', 'The folder contains as many folders as the disk allows.'],
}

export function hasErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** Converts errors of system calls. Returns others unchanged: a StorageError, the reason of an abort, a bug. */
export function toStorageError(error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const [code, message] = meanings[String(error.code)] ?? ['UNAVAILABLE', unavailable]
  return new StorageError(code, message, { cause: error })
}

/** Runs one call of the provider and converts its errors to StorageErrors. */
export async function withStorageErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw toStorageError(error)
  }
}

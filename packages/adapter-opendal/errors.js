// @ts-check
/** @import { StorageErrorCode } from 'stowage/adapter' */
import { StorageError } from 'stowage/adapter'

/** @type {Record<string, readonly [StorageErrorCode, string]>} */
const meanings = {
  NotFound: ['NOT_FOUND', 'There is nothing at this path.'],
  AlreadyExists: ['ALREADY_EXISTS', 'There is something at this path already.'],
  IsADirectory: ['NOT_A_FILE', 'There is a folder at this path.'],
  NotADirectory: ['NOT_A_DIRECTORY', 'Something on this path is not a folder.'],
  IsSameFile: ['ALREADY_EXISTS', 'The file is at this path already.'],
  ConditionNotMatch: ['PRECONDITION_FAILED', 'The file has changed since.'],
  RangeNotSatisfied: ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
  PermissionDenied: [
    'PERMISSION_DENIED',
    'The service does not allow this: check the credentials and their permissions.',
  ],
  ConfigInvalid: ['INVALID_CONFIG', 'The options do not suit this service: compare them with its documentation.'],
  RateLimited: ['RATE_LIMITED', 'The service gets too many requests: wait a little, then try again.'],
  Unexpected: ['UNAVAILABLE', 'The service cannot be reached or is failing: check the options, or try again.'],
}

/** Returns the kind of an error of OpenDAL, which begins its text: `NotFound (permanent) at stat`. @param {unknown} error */
export function kindOf(error) {
  const text = error instanceof Error ? error.message : ''
  const kind = /^(\w+) \((?:permanent|temporary|persistent)\)/.exec(text)?.[1]
  return kind === 'Unexpected' && text.endsWith('(os error 20)') ? 'NotADirectory' : kind
}

/** @template T @param {Promise<T>} work @returns {Promise<T>} */
export async function translated(work) {
  try {
    return await work
  } catch (error) {
    const kind = kindOf(error)
    if (kind === undefined) throw error
    const [code, message] = meanings[kind] ?? ['PERMISSION_DENIED', 'The service cannot do this.']
    // The text can have addresses and options in it.
    throw new StorageError(code, message, { cause: new Error(kind) })
  }
}

/** @param {unknown} error @param {StorageErrorCode} code */
export function hasCode(error, code) {
  return error instanceof StorageError && error.code === code
}

import { StorageError } from '../../contract.ts'
import { alreadyExists, notAFile, notAFolder, notFound } from '../errors.ts'
import type { Facts } from './files.ts'

/** Errors that say by themselves why a command failed. */
const clear: ReadonlySet<unknown> = new Set([
  'UNAVAILABLE',
  'RATE_LIMITED',
  'UNAUTHORIZED',
  'NEEDS_RECONNECT',
  'QUOTA_EXCEEDED',
  'IN_USE',
])

/** Returns whether the server refused a command for a reason that only another look can show. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'StorageError' && 'code' in error && !clear.has(error.code)
}

/** Makes a handler for `catch` that returns `value` for a refusal, and throws other errors again. */
export function ifRefused<T>(value: T): (error: unknown) => T {
  return error => {
    if (isRefusal(error)) return value
    throw error
  }
}

/** Converts the refusal of the folder that the configuration names. Returns other errors unchanged. */
export function refusedFolder(error: unknown, folder: string): unknown {
  if (!isRefusal(error)) return error
  const message = `The server has no folder "${folder}" that the user can open: correct the folder.`
  return new StorageError('INVALID_CONFIG', message, { cause: error, property: { name: 'folder' } })
}

export function missing(): never {
  throw notFound()
}

/** @throws ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY where an entry of the given kind must not replace the existing one */
export function refuseTarget(existing: Facts | null, kind: Facts['kind'], overwrite: boolean): void {
  if (!existing) return
  if (!overwrite) throw alreadyExists()
  if (existing.kind !== kind) throw kind === 'file' ? notAFile() : notAFolder()
}

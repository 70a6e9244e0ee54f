import { StorageError } from '../contract.ts'
import type { Facts } from './files.ts'

/** Errors that say by themselves why a command failed. */
const clear: ReadonlySet<unknown> = new Set([
  'UNAVAILABLE',
  'RATE_LIMITED',
  'UNAUTHORIZED',
  'NEEDS_RECONNECT',
  'QUOTA_EXCEEDED',
])

/** Returns whether the server refused a command for a reason that only another look can show. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'StorageError' && 'code' in error && !clear.has(error.code)
}

/** Returns whether a file was not read because it has changed since its entry was. */
export function isChanged(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'PRECONDITION_FAILED'
}

export function missing(): never {
  throw new StorageError('NOT_FOUND', 'There is nothing at this path.')
}

/** @throws ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY where an entry of the given kind must not replace the existing one */
export function refuseTarget(existing: Facts | null, kind: Facts['kind'], overwrite: boolean): void {
  if (!existing) return
  if (!overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
  if (existing.kind === kind) return
  if (kind === 'file') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
  throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path.')
}

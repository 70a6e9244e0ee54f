import { AppError } from '../../errors.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from './conflict.ts'

/** Returns whether the entry at a path has the etag that the client expects; undefined means there is no entry. */
export type WriteCondition = (etag: string | null | undefined) => boolean

export function conditionFailed(): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    'The existing entry does not match the condition of the request: nothing was changed.',
  )
}

/**
 * Returns a check to run before the first byte and again after the last, just before the file becomes visible. The check
 * and the write are not atomic: a write by another client between them is not detected.
 */
export function verifyCondition(
  location: WriteLocation,
  condition: WriteCondition | undefined,
  signal: AbortSignal,
): (() => Promise<void>) | undefined {
  if (!condition) return undefined
  return async () => {
    const current = await statOrNull(location, signal)
    if (!condition(current ? current.etag : undefined)) throw conditionFailed()
  }
}

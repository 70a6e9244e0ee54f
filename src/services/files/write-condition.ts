import { AppError } from '../../errors.ts'
import type { WriteLocation } from '../../storage/location.ts'
import { statOrNull } from './conflict.ts'

/** Whether what stands at a path, by its etag, is what a client believes; undefined where there is nothing. */
export type WriteCondition = (etag: string | null | undefined) => boolean

/**
 * A check that is made before the first byte and again behind the last one, just before the file gets its name. No back
 * end is asked to do both in one step: a write from elsewhere in that instant is not seen.
 */
export function verifyCondition(
  location: WriteLocation,
  condition: WriteCondition | undefined,
  signal: AbortSignal,
): (() => Promise<void>) | undefined {
  if (!condition) return undefined
  return async () => {
    const current = await statOrNull(location, signal)
    if (!condition(current ? current.etag : undefined)) {
      throw new AppError('PRECONDITION_FAILED', 'What is there is not what the request expects: nothing was stored.')
    }
  }
}

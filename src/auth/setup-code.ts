import { hash, timingSafeEqual } from 'node:crypto'

/** In a time that tells nothing of the code. */
export function isSetupCode(given: string, setupCode: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', setupCode, 'buffer'))
}

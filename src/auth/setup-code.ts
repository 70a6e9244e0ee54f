import { hash, timingSafeEqual } from 'node:crypto'

/** Compares in constant time. */
export function isSetupCode(given: string, setupCode: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', setupCode, 'buffer'))
}

import { hash, timingSafeEqual } from 'node:crypto'

/** Compares in constant time. */
export function isSetupCode(text: string, setupCode: string): boolean {
  return timingSafeEqual(hash('sha256', text, 'buffer'), hash('sha256', setupCode, 'buffer'))
}

import { hash, randomBytes } from 'node:crypto'

export const keyPrefix = 'stw_'
const keyPattern = /^stw_[0-9a-f]{40}$/
const displayLength = 12

/** `stw_` and 160 random bits as 40 hexadecimal characters. */
export function generateApiKey(): { key: string; keyHash: Buffer; displayPrefix: string } {
  const key = keyPrefix + randomBytes(20).toString('hex')
  return { key, keyHash: hashToken(key), displayPrefix: key.slice(0, displayLength) }
}

export function isApiKey(token: string): boolean {
  return keyPattern.test(token)
}

/** Keys, and tokens of the form of JWTs, wherever in a text somebody has put them. */
export function withoutCredentials(text: string): string {
  return text.replace(/stw_\w{8,}|eyJ[\w-]+\.[\w.-]+/g, '[redacted]')
}

/** A plain hash is enough for 160 random bits: there is nothing to guess. */
export function hashToken(token: string): Buffer {
  // In one call: the object of createHash outlives young garbage collections, and there is one for each request.
  return hash('sha256', token, 'buffer')
}

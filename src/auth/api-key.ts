import { hash, randomBytes } from 'node:crypto'

export const keyPrefix = 'stw_'
const keyPattern = /^stw_[0-9a-f]{40}$/
const displayLength = 12
/** base64 of `{"`. */
const jwtPrefix = 'eyJ'
const redacted = '[redacted]'

/** `stw_` and 160 random bits as 40 hexadecimal characters. */
export function generateApiKey(): { key: string; keyHash: Buffer; displayPrefix: string } {
  const key = keyPrefix + randomBytes(20).toString('hex')
  return { key, keyHash: hashToken(key), displayPrefix: key.slice(0, displayLength) }
}

export function isApiKey(token: string): boolean {
  return keyPattern.test(token)
}

/** Replaces API keys and JWTs anywhere in the text, in time that grows with its length alone. */
export function redactTokens(text: string): string {
  return text.replace(/[\w.-]+/g, word => redactJwt(word).replace(/stw_\w{8,}/g, redacted))
}

function redactJwt(word: string): string {
  const start = startOfJwt(word)
  return start < 0 ? word : word.slice(0, start) + redacted
}

/** Where the first `eyJ<something>.<something>` begins, or -1. Each character is read once. */
function startOfJwt(word: string): number {
  let start = word.indexOf(jwtPrefix)
  while (start >= 0) {
    const header = start + jwtPrefix.length
    const dot = word.indexOf('.', header)
    if (dot < 0 || dot === word.length - 1) return -1
    if (dot > header) return start
    start = word.indexOf(jwtPrefix, dot)
  }
  return -1
}

/** A plain hash is enough for 160 random bits: there is nothing to guess. */
export function hashToken(token: string): Buffer {
  // In one call: the object of createHash outlives young garbage collections, and there is one for each request.
  return hash('sha256', token, 'buffer')
}

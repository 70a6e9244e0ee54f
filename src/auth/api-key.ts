import { hash, randomBytes } from 'node:crypto'

const keyPrefix = 'stw_'
const keyPattern = /^stw_[0-9a-f]{40}$/
const displayLength = 12
/** base64 of `{"`. */
const jwtPrefix = 'eyJ'
const redacted = '[redacted]'

/** Generates `stw_` followed by 160 random bits as 40 hexadecimal characters. */
export function generateApiKey(): { key: string; keyHash: Buffer; displayPrefix: string } {
  return describeApiKey(keyPrefix + randomBytes(20).toString('hex'))
}

/** Returns what is stored about a key. */
export function describeApiKey(key: string): { key: string; keyHash: Buffer; displayPrefix: string } {
  return { key, keyHash: hashToken(key), displayPrefix: key.slice(0, displayLength) }
}

export function isApiKey(token: string): boolean {
  return keyPattern.test(token)
}

/** Replaces API keys and JWTs anywhere in the text, in linear time. */
export function redactTokens(text: string): string {
  return text.replace(/[\w.-]+/g, word => redactJwt(word).replace(/stw_\w{8,}/g, redacted))
}

function redactJwt(word: string): string {
  const start = startOfJwt(word)
  return start < 0 ? word : word.slice(0, start) + redacted
}

/** Returns the index of the first `eyJ<something>.<something>`, or -1. Reads each character once. */
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

/** Hashes a token without a salt, because 160 random bits cannot be guessed. */
export function hashToken(token: string): Buffer {
  // `hash` is cheaper than `createHash`, whose object would outlive young garbage collections on every request.
  return hash('sha256', token, 'buffer')
}

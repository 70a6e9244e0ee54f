import { createHmac, hash, randomBytes } from 'node:crypto'
import { bytesOfId, idOfBytes } from './id.ts'
import type { Secrets } from './secrets.ts'
import type { ClientConnection } from './viewer.ts'

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

/** Replaces API keys, JWTs and what connected applications hold anywhere in the text, in linear time. */
export function redactTokens(text: string): string {
  return text.replace(/[\w.-]+/g, word => redactJwt(word).replace(/stw[cor]?_\w{8,}/g, redacted))
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

// The S3 credentials of an API key. The access key id names the key, and the secret is derived from the server's secret and
// the key's hash, so that the database alone opens nothing.

const accessKeyPrefix = 'STW'
const accessKeyIdPattern = /^STW[0-9A-F]{32}$/
/** Begins like an API key, so that the same pattern removes it from the log. */
const secretPrefix = 'stw_s3_'
/** 160 bits, as in an API key. */
const secretBytes = 20

/** Returns the access key id of the API key with this id. */
export function accessKeyIdOf(apiKeyId: string): string {
  return accessKeyPrefix + bytesOfId(apiKeyId).toString('hex').toUpperCase()
}

/** Returns the id of the API key; null if the text is not an access key id of this server. */
export function apiKeyIdOf(accessKeyId: string): string | null {
  if (!accessKeyIdPattern.test(accessKeyId)) return null
  return idOfBytes(Buffer.from(accessKeyId.slice(accessKeyPrefix.length), 'hex'))
}

/** Returns the secret access keys of an API key: the current one, then one for each other secret that is still accepted. */
export function secretAccessKeys(secrets: Secrets, key: { id: string; hash: Buffer }): readonly [string, ...string[]] {
  const [current, ...others] = secrets.keys('s3')
  const derive = (secret: Buffer) =>
    secretPrefix +
    createHmac('sha256', secret)
      .update(key.id)
      .update(key.hash)
      .digest('hex')
      .slice(0, 2 * secretBytes)
  return [derive(current), ...others.map(derive)]
}

/** The latest key on each connection, because clients send the same one with every request. */
const latestKeys = new WeakMap<ClientConnection, { key: string; hash: string }>()

/** Returns the hexadecimal hash of a key. */
export function hashOfKey(key: string, connection: ClientConnection | undefined): string {
  const latest = connection && latestKeys.get(connection)
  if (latest?.key === key) return latest.hash
  const hash = hashToken(key).toString('hex')
  if (connection) latestKeys.set(connection, { key, hash })
  return hash
}

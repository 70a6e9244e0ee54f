/**
 * The S3 credentials of an API key. The access key id names the key, and the secret is derived from the server's secret and
 * the key's hash, so that the database alone opens nothing.
 */
import { createHmac } from 'node:crypto'
import { isId } from './id.ts'
import type { Secrets } from './secrets.ts'

/** The region in which all buckets are: the default of most clients. */
export const s3Region = 'us-east-1'

const prefix = 'STW'
const accessKeyIdPattern = /^STW[0-9A-F]{32}$/
/** Begins like an API key, so that the same pattern removes it from the log. */
const secretPrefix = 'stw_s3_'
/** 160 bits, as in an API key. */
const secretBytes = 20

/** Returns the access key id of the API key with this id. */
export function accessKeyIdOf(apiKeyId: string): string {
  return prefix + apiKeyId.replaceAll('-', '').toUpperCase()
}

/** Returns the id of the API key; null if the text is not an access key id of this server. */
export function apiKeyIdOf(accessKeyId: string): string | null {
  if (!accessKeyIdPattern.test(accessKeyId)) return null
  const hex = accessKeyId.slice(prefix.length).toLowerCase()
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  return isId(id) ? id : null
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

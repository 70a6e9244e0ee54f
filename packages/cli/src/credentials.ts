/** The server and the API key: from the environment, or from the file that `login` writes. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError, exitCodes, usageError } from './errors.ts'
import { configFolder, type Environment, readPrivateFile, writePrivateFile } from './private-files.ts'

export interface Credentials {
  /** The address of the server without a `/` at its end. */
  url: string
  key: string
}

export function credentialsFile(environment: Environment): string {
  return join(configFolder(environment), 'credentials.json')
}

/**
 * Returns the credentials to use. A stored key is sent only to the server that it was stored for.
 * @throws CommandError if the server or the key is unknown
 */
export async function findCredentials(environment: Environment): Promise<Credentials> {
  const given = { url: environment.STOWAGE_URL, key: environment.STOWAGE_API_KEY }
  const url = given.url ? parseServerUrl(given.url) : null
  if (url !== null && given.key) return { url, key: parseKey(given.key) }
  const stored = await readCredentials(environment)
  const key = given.key ? parseKey(given.key) : null
  if (stored && url === null) return { url: stored.url, key: key ?? stored.key }
  if (stored && url === stored.url) return stored
  const problem = url === null ? 'You are not signed in' : `There is no stored API key for ${url}`
  const advice = 'run "stowage login <url>", or set STOWAGE_URL and STOWAGE_API_KEY.'
  throw new CommandError(`${problem}: ${advice}`, 'NOT_SIGNED_IN', exitCodes.forbidden.code)
}

/** Returns null if there are none. @throws CommandError */
export async function readCredentials(environment: Environment): Promise<Credentials | null> {
  const path = credentialsFile(environment)
  const text = await readPrivateFile(path)
  if (text === null) return null
  const { url, key } = parseObject(text)
  if (typeof url === 'string' && typeof key === 'string') return { url: parseServerUrl(url), key: parseKey(key) }
  const message = `${path} is damaged: run "stowage login <url>" again.`
  throw new CommandError(message, 'INVALID_FILE', exitCodes.failure.code)
}

export function storeCredentials(environment: Environment, credentials: Credentials): Promise<void> {
  return writePrivateFile(credentialsFile(environment), `${JSON.stringify(credentials, null, 2)}\n`)
}

export function forgetCredentials(environment: Environment): Promise<void> {
  return rm(credentialsFile(environment), { force: true })
}

/** Returns the address without a `/` at its end. @throws CommandError */
export function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href.replace(/\/$/, '')
  throw usageError('The address of the server must be a URL such as https://files.example.org.')
}

/** The message does not repeat the text, which may be a key with a typing error. @throws CommandError */
export function parseKey(text: string): string {
  const key = text.trim()
  if (/^[\x21-\x7e]{1,4096}$/.test(key)) return key
  throw usageError('The API key is empty or has characters that no key has.')
}

/** Whether the key would pass through a network without encryption. */
export function isUnencrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

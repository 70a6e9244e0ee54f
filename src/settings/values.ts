/**
 * Parses the values of settings, and reads secrets from files, as Docker and Kubernetes provide them. Each parser throws
 * an Error with the rest of the sentence "NAME must ...".
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** The response header with which the server tells the proxy to send a file of a local disk. */
export interface Sendfile {
  header: 'X-Accel-Redirect' | 'X-Sendfile'
  /** Prepended to the absolute path; without a trailing `/`. */
  prefix: string
}

/** Origins as browsers send them, or `*` for every origin. */
export type AllowedOrigins = readonly string[] | '*'

export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Error(`be a whole number from ${min} to ${max}, not "${text}"`)
    }
    return value
  }
}

/** `0.25` */
export function share(text: string): number {
  const value = Number(text)
  if (!/^\d(?:\.\d{1,9})?$/.test(text) || value > 1) throw new Error(`be a number from 0 to 1, not "${text}"`)
  return value
}

export function postgresUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'postgres:' && url?.protocol !== 'postgresql:') {
    throw new Error('be an address such as postgres://user:password@host:5432/database')
  }
  return text
}

/** Messages do not repeat the address, which may contain a password. */
export function smtpServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isServer = url && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname)
  if (!isServer || url.search || url.hash || !isDecodable(url.username + url.password)) {
    throw new Error(
      'be an address such as smtp://name:password@mail.example.com:587, with "%25" for a "%" in the name or the password',
    )
  }
  return text
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

export function emailAddress(text: string): string {
  if (text.length > 254 || !/^[^\s()<>,;:"[\]\\@]+@[^\s()<>,;:"[\]\\@]+$/.test(text)) {
    throw new Error(`be an email address such as stowage@example.org, not "${text}"`)
  }
  return text
}

export function secret(text: string): string {
  if (Buffer.byteLength(text) < 32) {
    throw new Error('have at least 32 bytes: create one with "openssl rand -hex 32"')
  }
  return text
}

export function setupCode(text: string): string {
  if (text.length < 16) throw new Error('have at least 16 characters: create one with "openssl rand -hex 16"')
  return text
}

export function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new Error(`be an address such as https://files.example.org, not "${text}"`)
  }
  let address = url.href
  while (address.endsWith('/')) address = address.slice(0, -1)
  return address
}

/** This machine, as URLs name it. */
const ownHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** An issuer of OpenID Connect: OpenID Connect Core, section 2. Other machines are reached with TLS only. */
export function issuerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && ownHosts.has(url.hostname))
  if (!url || !isSafe || url.search || url.hash || url.username || url.password || text.includes('/.well-known/')) {
    throw new Error(`be an address such as https://id.example.com, not "${text}"`)
  }
  return text
}

const issuerPrompts = ['DEFAULT', 'LOGIN', 'SELECT_ACCOUNT', 'CONSENT'] as const
export type IssuerQuestion = (typeof issuerPrompts)[number]

/** The prompt of an issuer: OpenID Connect Core, section 3.1.2.1. */
export function issuerQuestion(text: string): IssuerQuestion {
  const found = issuerPrompts.find(prompt => prompt.toLowerCase() === text)
  if (!found) throw new Error(`be one of ${issuerPrompts.map(each => each.toLowerCase()).join(', ')}, not "${text}"`)
  return found
}

export interface LdapServer {
  host: string
  port: number
  /** NONE is for this machine only. */
  security: 'LDAPS' | 'STARTTLS' | 'NONE'
}

/** `ldaps://ldap.example.com`, or `ldap://` with StartTLS. This machine needs no TLS. */
export function ldapServer(text: string): LdapServer {
  const url = URL.canParse(text) ? new URL(text) : null
  const isServer = url && /^ldaps?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname)
  if (!isServer || url.search || url.hash || url.username || url.password) {
    throw new Error('be an address such as ldaps://ldap.example.com:636, or ldap://ldap.example.com:389 with StartTLS')
  }
  const isTls = url.protocol === 'ldaps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isTls ? 636 : 389) : Number(url.port),
    security: isTls ? 'LDAPS' : ownHosts.has(url.hostname) ? 'NONE' : 'STARTTLS',
  }
}

/** A Unix socket, or an address on the network. */
export type ClamdServer = { path: string } | { host: string; port: number }

/** `tcp://clamav:3310`, or `unix:/run/clamav/clamd.ctl`. */
export function clamdServer(text: string): ClamdServer {
  const path = /^unix:(?:\/\/)?(\/[^/].*)$/.exec(text)?.[1]
  if (path !== undefined) return { path }
  const url = URL.canParse(text) ? new URL(text) : null
  const isServer = url?.protocol === 'tcp:' && url.hostname !== '' && url.port !== '' && /^\/?$/.test(url.pathname)
  if (!isServer || url.search || url.hash || url.username || url.password) {
    throw new Error('be an address such as tcp://clamav:3310 or unix:/run/clamav/clamd.ctl')
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) }
}

/** One of two words. */
function either<First extends string, Second extends string>(first: First, second: Second) {
  return (text: string): First | Second => {
    if (text === first) return first
    if (text === second) return second
    throw new Error(`be ${first} or ${second}, not "${text}"`)
  }
}

/** The treatment of uploads that cannot be scanned. */
export const unscanned = either('refuse', 'accept')

/** The source of the links with which people who forgot their password set a new one. */
export const passwordResets = either('email', 'administrators')

/** Whether something is switched on. */
export const onOrOff = either('on', 'off')

/** A filter of LDAP (RFC 4515) for people, in which `{login}` stands for what somebody enters. */
export function loginFilter(text: string): string {
  if (!text.includes('{login}')) throw new Error('contain {login}, such as (uid={login})')
  return ldapFilter(text)
}

export function ldapFilter(text: string): string {
  let depth = 0
  // The filter ends with the parenthesis that closes the first one.
  const isBalanced = [...text].every((character, index) => {
    depth += character === '(' ? 1 : character === ')' ? -1 : 0
    return depth > 0 || (depth === 0 && index === text.length - 1 && character === ')')
  })
  if (text.length > 2000 || !isBalanced || depth !== 0)
    throw new Error(`be a filter in parentheses such as (uid={login}), not "${text}"`)
  return text
}

function list(text: string): string[] {
  return text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}

/** Applications in a shell have origins such as `capacitor://localhost`. */
const origin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+$/i

export function origins(text: string): AllowedOrigins {
  if (text === '*') return '*'
  return list(text).map(item => {
    const url = origin.test(item) && URL.canParse(item) ? new URL(item) : null
    if (!url) throw new Error(`be * or origins such as https://app.example.org, not "${item}"`)
    // Browsers send the host in lower case and without the default port.
    return url.origin === 'null' ? item : url.origin
  })
}

/** `127.0.0.1:9464`, `[::1]:9464`. */
export function hostAndPort(text: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? []
  if (host === '' || Number(port) > 65535)
    throw new Error(`be an address and a port such as 127.0.0.1:9464, not "${text}"`)
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port: Number(port) }
}

const hostNamePattern = /^[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){0,20}$/i

/** `s3.example.com`. */
export function hostName(text: string): string {
  if (!hostNamePattern.test(text)) throw new Error(`be a host name such as s3.example.com, not "${text}"`)
  return text.toLowerCase()
}

/** `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
export function networks(text: string): string[] {
  const items = list(text)
  const wrong = items.find(item => {
    const [address = '', prefix, ...rest] = item.split('/')
    const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
    return bits < 0 || !isPrefix || rest.length > 0
  })
  if (wrong !== undefined) throw new Error(`be addresses or networks such as 10.0.0.0/8, not "${wrong}"`)
  return items
}

export function sendfile(text: string): Sendfile {
  if (text.toLowerCase() === 'x-sendfile') return { header: 'X-Sendfile', prefix: '' }
  const prefix = /^x-accel-redirect:((?:\/[\w.~-]+)+)\/?$/i.exec(text)?.[1]
  if (prefix === undefined)
    throw new Error(`be x-sendfile or a value such as x-accel-redirect:/internal, not "${text}"`)
  return { header: 'X-Accel-Redirect', prefix }
}

export function folders(text: string): string[] {
  const items = list(text)
  const wrong = items.find(item => !isAbsolute(item))
  if (wrong !== undefined) throw new Error(`be absolute folders separated by commas, not "${wrong}"`)
  return items.map(item => resolve(item))
}

const packageName = /^(?:@[a-z0-9-~][a-z0-9-._~]*\/)?[a-z0-9-~][a-z0-9-._~]*$/

export function packages(text: string): string[] {
  const items = list(text)
  const wrong = items.find(item => !packageName.test(item))
  if (wrong !== undefined) throw new Error(`be names of npm packages separated by commas, not "${wrong}"`)
  return items
}

export function logLevel(text: string): LogLevel {
  const level = logLevels.find(known => known === text)
  if (!level) throw new Error(`be one of ${logLevels.join(', ')}, not "${text}"`)
  return level
}

/** Bytes. */
const maxSize = 64 * 1024

/** The settings whose value can be in a file, which NAME_FILE names. */
const fileSettings = [
  'DATABASE_URL',
  'STOWAGE_SECRET',
  'STOWAGE_SECRET_PREVIOUS',
  'STOWAGE_SETUP_CODE',
  'STOWAGE_SMTP_URL',
  'STOWAGE_OIDC_CLIENT_SECRET',
  'STOWAGE_LDAP_BIND_PASSWORD',
] as const

/**
 * Returns the value of a setting: its own, or the content of the file, without white space around it.
 * @throws Error with the rest of the sentence "NAME_FILE must ..."
 */
export function valueOrFile(environment: Record<string, string | undefined>, name: string): string | undefined {
  const own = environment[name]?.trim()
  const file = isFileSetting(name) ? environment[`${name}_FILE`]?.trim() : undefined
  if (!file) return own
  if (own) throw new Error(`be unset, because ${name} is set`)
  const text = readAtStart(file)
  if (text === '') throw new Error(`name a file that is not empty, not "${file}"`)
  return text
}

export function isFileSetting(name: string): boolean {
  return (fileSettings as readonly string[]).includes(name)
}

/** Synchronous, because nothing else can happen before the settings are known. */
function readAtStart(file: string): string {
  try {
    const descriptor = openSync(file, 'r')
    try {
      const buffer = Buffer.alloc(maxSize + 1)
      const size = readSync(descriptor, buffer)
      if (size <= maxSize) return buffer.toString('utf8', 0, size).trim()
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause
    throw new Error(`name a file that this user can read, not "${file}" (${code})`, { cause })
  }
  throw new Error(`name a file of at most ${maxSize} bytes, not "${file}"`)
}

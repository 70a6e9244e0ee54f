/**
 * Headers of WebDAV (RFC 4918, section 10), and those that clients of ownCloud and Nextcloud send and expect, rclone among
 * them.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import type { Digests } from '../../services/files/index.ts'

type Depth = '0' | '1' | 'infinity'

/** @throws INVALID_INPUT for a depth that the method does not allow */
export function parseDepth<D extends Depth>(headers: IncomingHttpHeaders, allowed: readonly D[], otherwise: D): D {
  const text = headerText(headers, 'depth')?.trim().toLowerCase()
  if (text === undefined) return otherwise
  const depth = allowed.find(each => each === text)
  if (!depth) throw new AppError('INVALID_INPUT', `The Depth header must be ${allowed.join(' or ')}.`)
  return depth
}

/** Returns whether the request may replace what is at its destination. @throws INVALID_INPUT */
export function parseOverwrite(headers: IncomingHttpHeaders): boolean {
  const text = headerText(headers, 'overwrite')?.trim().toUpperCase() ?? 'T'
  if (text !== 'T' && text !== 'F') throw new AppError('INVALID_INPUT', 'The Overwrite header must be "T" or "F".')
  return text === 'T'
}

/** Seconds. */
const defaultTimeout = 600

/** Returns the first time that the client asks for, in seconds; infinity is a large number. */
export function parseTimeout(headers: IncomingHttpHeaders): number {
  for (const text of (headerText(headers, 'timeout') ?? '').split(',')) {
    const [, seconds, infinite] = /^(?:Second-(\d{1,10})|(Infinite))$/i.exec(text.trim()) ?? []
    if (infinite !== undefined) return Number.MAX_SAFE_INTEGER
    if (seconds !== undefined) return Math.max(1, Number(seconds))
  }
  return defaultTimeout
}

const tokenScheme = 'opaquelocktoken:'

export function formatToken(token: string): string {
  return `${tokenScheme}${token}`
}

/** Returns the token of this server in a URI; null if it is of another one. */
export function parseToken(uri: string): string | null {
  return uri.toLowerCase().startsWith(tokenScheme) ? uri.slice(tokenScheme.length).toLowerCase() : null
}

/** Parses `Lock-Token: <opaquelocktoken:...>`. Some clients omit the angle brackets. @throws INVALID_INPUT */
export function parseLockToken(headers: IncomingHttpHeaders): string {
  const text = headerText(headers, 'lock-token')?.trim().replace(/^<|>$/g, '')
  const token = text === undefined ? null : parseToken(text)
  if (token === null) throw new AppError('INVALID_INPUT', 'The Lock-Token header must be "<opaquelocktoken:…>".')
  return token
}

export function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

const lengths = new Map([
  ['MD5', { algorithm: 'md5', length: 32 }],
  ['SHA1', { algorithm: 'sha1', length: 40 }],
  ['SHA256', { algorithm: 'sha256', length: 64 }],
] as const)

/** Parses `OC-Checksum: SHA1:<hex>`. Unknown algorithms are ignored. @throws INVALID_INPUT */
export function parseOcChecksum(headers: IncomingHttpHeaders): Digests {
  const text = headerText(headers, 'oc-checksum')
  if (text === undefined) return {}
  const [, name = '', hex = ''] = /^([A-Za-z0-9]+):([0-9A-Fa-f]+)$/.exec(text.trim()) ?? []
  const known = lengths.get(name.toUpperCase() as 'MD5')
  if (name !== '' && !known) return {}
  if (hex.length !== known?.length) {
    throw new AppError('INVALID_INPUT', 'The OC-Checksum header must be "SHA1:", "MD5:" or "SHA256:" and hex digits.')
  }
  return { [known.algorithm]: Buffer.from(hex, 'hex') }
}

export function formatOcChecksum({ sha1, md5 }: { sha1?: string; md5?: string }): Record<string, string> {
  if (sha1 !== undefined) return { 'OC-Checksum': `SHA1:${sha1}` }
  return md5 === undefined ? {} : { 'OC-Checksum': `MD5:${md5}` }
}

/** Parses `X-OC-Mtime`, in seconds since 1970. @throws INVALID_INPUT */
export function parseOcMtime(headers: IncomingHttpHeaders): Date | undefined {
  const text = headerText(headers, 'x-oc-mtime')?.trim()
  if (text === undefined) return undefined
  if (!/^\d{1,11}(?:\.\d{1,9})?$/.test(text)) {
    throw new AppError('INVALID_INPUT', 'The X-OC-Mtime header must be the seconds since 1970.')
  }
  return new Date(Math.round(Number(text) * 1000))
}

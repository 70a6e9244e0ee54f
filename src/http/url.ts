import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'

/** Returns the path and the query of a URL without its origin. */
export function splitUrl(url: string): [path: string, query: string] {
  const start = url.indexOf('?')
  return start < 0 ? [url, ''] : [url.slice(0, start), url.slice(start + 1)]
}

/** Returns the value of the first key that is the path of the URL or one of its parent paths. */
export function findBelow<T>(byPath: ReadonlyMap<string, T>, url: string): T | undefined {
  const [path] = splitUrl(url)
  for (const [top, value] of byPath) {
    if (path === top || path.startsWith(`${top}/`)) return value
  }
  return undefined
}

/**
 * Returns the URL at which clients reach the server, without a trailing `/`.
 * @param publicUrl the one that the operator has set, or null
 */
export function baseUrlOf({ protocol, host }: FastifyRequest, publicUrl: string | null): string {
  return publicUrl ?? `${protocol}://${host}`
}

/** The address of a request as its client sees it. */
export interface CanonicalAddress {
  /** With the port, if the client sends one. */
  host: string
  /** The path and the query. */
  url: string
}

const origin = /^https?:\/\/([^/?#]*)/i

/**
 * Returns the address that the client of a request used. X-Forwarded-Host counts only from a trusted proxy; of several values, it is
 * the last, which that proxy added. A URL with an origin overrides the Host header: RFC 9112, section 3.2.2.
 */
export function addressOf({ url = '/', headers }: IncomingMessage, isFromProxy: boolean): CanonicalAddress {
  const [prefix = '', authority] = origin.exec(url) ?? []
  const forwarded = isFromProxy ? headers['x-forwarded-host'] : undefined
  const host = forwarded?.toString().split(',').at(-1)?.trim() || (authority ?? headers.host ?? '')
  if (authority === undefined) return { host, url }
  const rest = url.slice(prefix.length)
  return { host, url: rest.startsWith('/') ? rest : `/${rest}` }
}

/**
 * Parses the query of a URL as `application/x-www-form-urlencoded`: percent-encoded UTF-8, with "+" for a space.
 * @param parameters the descriptions of the parameters by their names
 * @throws INVALID_INPUT if a parameter is unknown, repeated or cannot be decoded
 */
export function parseQuery<Name extends string>(
  url: string,
  parameters: Readonly<Record<Name, unknown>>,
): { [N in Name]?: string } {
  const names = Object.keys(parameters) as Name[]
  const query: { [N in Name]?: string } = {}
  for (const pair of splitUrl(url)[1].split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const [rawName, rawValue] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    const decoded = decode(rawName)
    const name = names.find(known => known === decoded)
    if (name === undefined)
      throw invalid(`This endpoint has no query parameter ${quoteName(decoded)}, only ${names.join(', ')}.`)
    if (query[name] !== undefined) throw invalid(`The query parameter "${name}" appears more than once.`)
    query[name] = decode(rawValue)
  }
  return query
}

/** @throws INVALID_INPUT */
export function requireParameter(value: string | undefined, name: string): string {
  if (value === undefined || value === '') throw invalid(`The query parameter "${name}" is missing.`)
  return value
}

/** Quotes a name for a message. Messages are logged, so the name appears only if it is a short word: other text may be a credential. */
export function quoteName(name: string): string {
  return /^\w{1,20}$/.test(name) ? `"${name}"` : 'of this name'
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid('The query is malformed: its percent-encoding is not UTF-8.')
  }
}

function invalid(message: string): AppError {
  return new AppError('INVALID_INPUT', message)
}

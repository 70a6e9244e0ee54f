/** A request as its client signed it, and its canonical form (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). */
import { createHash } from 'node:crypto'
import { SignatureError } from './failure.ts'

export interface SignedMessage {
  method: string
  /** Percent-encoded, with the path prefix that the client used and without the query. */
  path: string
  query: Query
  /** The values as Latin-1 text, by lowercase name. */
  headers: ReadonlyMap<string, string>
}

/** The decoded parameters, in the order of the URL. */
export type Query = readonly (readonly [name: string, value: string])[]

/** @throws SignatureError */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new SignatureError('InvalidURI', 'The URL is malformed: its percent-encoding is not UTF-8.')
  }
}

/** Parses the part of a URL after the `?`. A "+" is a space. @throws SignatureError */
export function parseSignedQuery(text: string): Query {
  return text
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => {
      const equals = pair.indexOf('=')
      const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
      return [decodeUri(name.replaceAll('+', ' ')), decodeUri(value.replaceAll('+', ' '))] as const
    })
}

/** Joins the values of a repeated header with commas, as signers do. @param raw names and values in turn */
export function parseSignedHeaders(raw: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const [earlier, value] = [headers.get(name), canonicalValue(raw[at + 1] ?? '')]
    headers.set(name, earlier === undefined ? value : `${earlier},${value}`)
  }
  return headers
}

/** The query parameter that is not part of what it signs. */
const signatureParameter = 'X-Amz-Signature'

/** Returns the hash of the canonical request in hex. @param payload the value of `x-amz-content-sha256` */
export function hashCanonicalRequest(
  message: SignedMessage,
  signedHeaders: readonly string[],
  payload: string,
): string {
  const headers = signedHeaders.map(name => `${name}:${message.headers.get(name) ?? ''}\n`)
  const lines = [
    message.method,
    encodeUri(decodeUri(message.path)).replaceAll('%2F', '/'),
    canonicalQuery(message.query),
    headers.join(''),
    signedHeaders.join(';'),
    payload,
  ]
  return createHash('sha256').update(lines.join('\n'), 'latin1').digest('hex')
}

function canonicalQuery(query: Query): string {
  return query
    .filter(([name]) => name !== signatureParameter)
    .map(([name, value]) => [encodeUri(name), encodeUri(value)] as const)
    .toSorted(([a, first], [b, second]) => compare(a, b) || compare(first, second))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** Compares ASCII texts by their bytes. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Percent-encodes everything but the unreserved characters of RFC 3986. */
export function encodeUri(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Trims a value and joins its words with single spaces, in linear time. */
function canonicalValue(value: string): string {
  return value
    .split(/[\t ]/)
    .filter(word => word !== '')
    .join(' ')
}

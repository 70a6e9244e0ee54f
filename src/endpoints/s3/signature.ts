/**
 * Parses the signature of a request, from its headers or from a presigned URL, and forms the canonical request that it signs.
 * Verifies nothing. https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
import { createHash } from 'node:crypto'
import { type S3Code, SignatureError } from './errors.ts'

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
    encodeKey(decodeUri(message.path)),
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
function encodeUri(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Percent-encodes a key or a path, whose "/" stay. */
export function encodeKey(key: string): string {
  return encodeUri(key).replaceAll('%2F', '/')
}

/** Trims a value and joins its words with single spaces, in linear time. */
function canonicalValue(value: string): string {
  return value
    .split(/[\t ]/)
    .filter(word => word !== '')
    .join(' ')
}

export interface Signature {
  accessKeyId: string
  scope: CredentialScope
  /** The time of signing, as `20130524T000000Z`. */
  timestamp: string
  /** Lowercase and sorted. */
  signedHeaders: readonly string[]
  /** 64 hexadecimal characters. */
  value: string
  /** The seconds for which a presigned URL is valid; null for a signature in the headers. */
  expiresIn: number | null
  /** The hash of the body in hex, or how the body is signed. */
  payload: string
}

interface CredentialScope {
  /** `20130524`. */
  date: string
  region: string
}

export const signatureAlgorithm = 'AWS4-HMAC-SHA256'
/** Seconds: a week. */
export const maxExpiry = 7 * 24 * 60 * 60

const timestampPattern = /^\d{8}T\d{6}Z$/
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|[+-]0000)$/
const hexHash = /^[0-9a-f]{64}$/
const headerName = /^[\w!#$%&'*+.^`|~-]{1,100}$/
const regionPattern = /^[\w-]{1,64}$/
const maxSignedHeaders = 100

const inHeader = 'AuthorizationHeaderMalformed'
const inQuery = 'AuthorizationQueryParametersError'

/** Returns null if the request has no signature. @throws SignatureError if it is malformed */
export function parseSignature(message: SignedMessage): Signature | null {
  const authorization = message.headers.get('authorization')
  const isPresigned = message.query.some(([name]) => name === 'X-Amz-Algorithm' || name === 'X-Amz-Signature')
  if (authorization !== undefined && isPresigned) {
    throw new SignatureError('InvalidArgument', 'Sign a request either in its Authorization header or in its URL.')
  }
  if (authorization !== undefined) return fromHeader(message, authorization)
  return isPresigned ? fromQuery(message) : null
}

function fromHeader({ headers }: SignedMessage, authorization: string): Signature {
  const [algorithm, ...rest] = authorization.split(' ')
  if (algorithm !== signatureAlgorithm) {
    throw new SignatureError('InvalidArgument', `The Authorization header must begin with "${signatureAlgorithm}".`)
  }
  const fields = new Map(
    rest
      .join('')
      .split(',')
      .map(field => {
        const equals = field.indexOf('=')
        return [field.slice(0, equals), field.slice(equals + 1)]
      }),
  )
  const payload = headers.get('x-amz-content-sha256')
  if (payload === undefined) {
    throw new SignatureError('InvalidArgument', 'The header x-amz-content-sha256 is missing.')
  }
  return {
    ...parseCredential(fields.get('Credential'), inHeader),
    timestamp: parseTimestamp(headers.get('x-amz-date') ?? timestampOf(headers.get('date')), inHeader),
    signedHeaders: parseSignedNames(fields.get('SignedHeaders'), inHeader),
    value: parseValue(fields.get('Signature'), inHeader),
    expiresIn: null,
    payload,
  }
}

function fromQuery({ query, headers }: SignedMessage): Signature {
  const parameters = new Map<string, string>()
  for (const [name, value] of query) {
    if (!name.startsWith('X-Amz-')) continue
    if (parameters.has(name)) throw new SignatureError(inQuery, 'A parameter of the signature appears more than once.')
    parameters.set(name, value)
  }
  if (parameters.get('X-Amz-Algorithm') !== signatureAlgorithm) {
    throw new SignatureError(inQuery, `X-Amz-Algorithm must be "${signatureAlgorithm}".`)
  }
  const expires = parameters.get('X-Amz-Expires') ?? ''
  const expiresIn = Number(expires)
  if (!/^\d{1,9}$/.test(expires) || expiresIn < 1 || expiresIn > maxExpiry) {
    throw new SignatureError(inQuery, `X-Amz-Expires must be a number of seconds from 1 to ${maxExpiry}.`)
  }
  return {
    ...parseCredential(parameters.get('X-Amz-Credential'), inQuery),
    timestamp: parseTimestamp(parameters.get('X-Amz-Date'), inQuery),
    signedHeaders: parseSignedNames(parameters.get('X-Amz-SignedHeaders'), inQuery),
    value: parseValue(parameters.get('X-Amz-Signature'), inQuery),
    expiresIn,
    payload: parameters.get('X-Amz-Content-Sha256') ?? headers.get('x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD',
  }
}

export function parseCredential(text = '', fault: S3Code): Pick<Signature, 'accessKeyId' | 'scope'> {
  const [accessKeyId = '', date = '', region = '', service, end, ...more] = text.split('/')
  const isComplete = accessKeyId !== '' && /^\d{8}$/.test(date) && regionPattern.test(region)
  if (!isComplete || service !== 's3' || end !== 'aws4_request' || more.length > 0) {
    throw new SignatureError(
      fault,
      'The credential of the signature must have the form <access key id>/<date>/<region>/s3/aws4_request.',
    )
  }
  return { accessKeyId, scope: { date, region } }
}

export function parseTimestamp(text = '', fault: S3Code): string {
  if (timestampPattern.test(text)) return text
  throw new SignatureError(fault, 'The time of the signature (X-Amz-Date) must have the form 20130524T000000Z.')
}

/** Converts the Date header, which some signers send in place of X-Amz-Date. */
function timestampOf(date = ''): string | undefined {
  if (timestampPattern.test(date)) return date
  const time = httpDate.test(date) ? Date.parse(date) : Number.NaN
  if (Number.isNaN(time)) return undefined
  return new Date(time).toISOString().replace(/[-:]|\.\d+/g, '')
}

function parseSignedNames(text = '', fault: S3Code): string[] {
  const names = text.split(';')
  const isSorted = names.every((name, at) => at === 0 || (names[at - 1] ?? '') < name)
  const areNames = names.every(name => headerName.test(name) && name === name.toLowerCase())
  if (names.length <= maxSignedHeaders && isSorted && areNames) return names
  throw new SignatureError(fault, 'The signed headers must be lowercase names in order, separated by ";".')
}

export function parseValue(text = '', fault: S3Code): string {
  if (hexHash.test(text)) return text
  throw new SignatureError(fault, 'The signature must have 64 hexadecimal digits.')
}

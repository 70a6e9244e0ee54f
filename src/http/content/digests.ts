/** Digests in headers: RFC 9530, and RFC 1864 (MD5) for clients that support nothing better. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Dictionary, ParseError, parseDictionary } from 'structured-headers'
import { AppError } from '../../errors.ts'
import type { Digests } from '../../services/files/index.ts'
import { type RequestParameters, text } from '../openapi/operation.ts'

/** The algorithms that are secure against attackers (RFC 9530, section 7.2). Others are ignored. */
const secure = new Map<string, { algorithm: keyof Digests; bytes: number }>([
  ['sha-256', { algorithm: 'sha256', bytes: 32 }],
  ['sha-512', { algorithm: 'sha512', bytes: 64 }],
])
const sha256Form = 'sha-256=:<44 characters of base64>:'
const md5Pattern = /^[A-Za-z0-9+/]{22}==$/
const names = ['content-digest', 'repr-digest', 'content-md5'] as const

/** The headers that `parseDigests` reads. */
export const digestParameters: RequestParameters = {
  'Content-Digest': {
    description: `The digests of the body: \`${sha256Form}\`, and \`sha-512\` (RFC 9530). Others are ignored.`,
    schema: text,
  },
  'Repr-Digest': { description: 'The same as `Content-Digest`.', schema: text },
  'Content-MD5': {
    description: 'The MD5 digest of the body in base64 (RFC 1864).',
    schema: { type: 'string', pattern: md5Pattern.source },
  },
}

/**
 * Returns the digests that the body must have, from `Content-Digest`, `Repr-Digest` (equal for a body without a content
 * coding) and `Content-MD5`.
 * @throws INVALID_INPUT if one is malformed; DIGEST_MISMATCH if two contradict each other
 */
export function parseDigests(headers: IncomingHttpHeaders): Digests {
  const digests: Digests = {}
  for (const name of ['content-digest', 'repr-digest'] as const) {
    for (const [algorithm, digest] of Object.entries(parseContentDigest(headerText(headers, name), name))) {
      const known = digests[algorithm as keyof Digests]
      if (known && !known.equals(digest)) {
        throw new AppError('DIGEST_MISMATCH', 'Content-Digest and Repr-Digest differ: nothing was stored.')
      }
      digests[algorithm as keyof Digests] = digest
    }
  }
  const md5 = headerText(headers, 'content-md5')
  if (md5 === undefined) return digests
  if (!md5Pattern.test(md5)) throw malformed('Content-MD5', '<24 characters of base64>')
  return { ...digests, md5: Buffer.from(md5, 'base64') }
}

/** Rejects digests of a whole form, because they say nothing about its files. @throws INVALID_INPUT */
export function requireNoDigest(headers: IncomingHttpHeaders): void {
  if (names.some(name => headers[name] !== undefined)) {
    throw new AppError(
      'INVALID_INPUT',
      'A form cannot have a digest header: send the file as the raw body to have it checked.',
    )
  }
}

/**
 * Parses a dictionary of byte sequences (RFC 9651, sections 3.2 and 3.3.5). If an algorithm is repeated, the last one counts.
 * @throws INVALID_INPUT
 */
export function parseContentDigest(header: string | undefined, name = 'content-digest'): Digests {
  if (header === undefined) return {}
  const fail = () => malformed(name === 'repr-digest' ? 'Repr-Digest' : 'Content-Digest', sha256Form)
  const members = readDictionary(header)
  if (!members?.size) throw fail()
  const digests: Digests = {}
  for (const [key, [value]] of members) {
    if (!(value instanceof ArrayBuffer)) throw fail()
    const known = secure.get(key)
    if (!known) continue
    if (value.byteLength !== known.bytes) throw fail()
    digests[known.algorithm] = Buffer.from(value)
  }
  return digests
}

/** Maps the names of RFC 9530's registry to those of the adapter contract. Insecure algorithms are better than none. */
const stored = { 'sha-256': 'sha256', md5: 'md5', sha: 'sha1', crc32c: 'crc32c' } as const

export const wantedDigestParameters: RequestParameters = {
  'Want-Content-Digest': {
    description: `Asks for the checksum of the body, such as \`sha-256=1\`. Known: ${Object.keys(stored).join(', ')}.`,
    schema: text,
  },
  'Want-Repr-Digest': { description: 'Asks for the checksum of the whole file.', schema: text },
}

/**
 * Returns the digests that the client wants (`Want-Content-Digest`, `Want-Repr-Digest`) and the back end stores. The server
 * never reads a file to compute one.
 * @param isWhole false if the response contains only a part of the file
 */
export function digestHeaders(
  headers: IncomingHttpHeaders,
  checksums: Readonly<Partial<Record<string, string>>>,
  isWhole: boolean,
): Record<string, string> {
  const digestsFor = (name: string): string =>
    preferred(headerText(headers, name))
      .flatMap(key => {
        const hex = checksums[stored[key]]
        return hex === undefined ? [] : [`${key}=:${Buffer.from(hex, 'hex').toString('base64')}:`]
      })
      .join(', ')
  const content = isWhole ? digestsFor('want-content-digest') : ''
  const representation = digestsFor('want-repr-digest')
  return { ...(content && { 'Content-Digest': content }), ...(representation && { 'Repr-Digest': representation }) }
}

/**
 * Returns the wanted algorithms, best first. A weight of 0 means "not acceptable" (section 4). Ignores members whose weight
 * is not an integer from 1 to 10, and a malformed header (RFC 9651, section 4.2).
 */
function preferred(header: string | undefined): (keyof typeof stored)[] {
  const weights: { key: keyof typeof stored; weight: number }[] = []
  for (const [key, [weight]] of (header && readDictionary(header)) || []) {
    if (!isStored(key) || !Number.isInteger(weight)) continue
    if (Number(weight) >= 1 && Number(weight) <= 10) weights.push({ key, weight: Number(weight) })
  }
  return weights.sort((a, b) => b.weight - a.weight).map(({ key }) => key)
}

function isStored(key: string): key is keyof typeof stored {
  return Object.hasOwn(stored, key)
}

/** Returns null if the header is malformed. */
function readDictionary(header: string): Dictionary | null {
  try {
    return parseDictionary(header)
  } catch (error) {
    if (error instanceof ParseError) return null
    throw error
  }
}

function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function malformed(name: string, form: string): AppError {
  return new AppError('INVALID_INPUT', `The ${name} header must have the form "${form}".`)
}

/** Digests in headers: RFC 9530, and RFC 1864 (MD5) for clients that support nothing better. */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import type { Digests } from '../../services/files/index.ts'
import { trimWhitespace } from '../header-text.ts'

/** Dictionary members with byte sequences: RFC 9651, sections 3.2 and 3.3.5. */
const member = /^([a-z*][a-z0-9_\-.*]*)=:([A-Za-z0-9+/]*={0,2}):((?:;[ ]*[a-z*][a-z0-9_\-.*]*(?:=[^,;]*)?)*)$/
const wanted = /^([a-z*][a-z0-9_\-.*]*)=(10|\d)(?:;.*)?$/

/** The algorithms that are secure against attackers (RFC 9530, section 7.2). Others are ignored. */
const secure: Readonly<Record<string, { algorithm: keyof Digests; bytes: number }>> = {
  'sha-256': { algorithm: 'sha256', bytes: 32 },
  'sha-512': { algorithm: 'sha512', bytes: 64 },
}
const md5Pattern = /^[A-Za-z0-9+/]{22}==$/
const names = ['content-digest', 'repr-digest', 'content-md5'] as const

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

/** Parses a digest header. If an algorithm is repeated, the last one counts. @throws INVALID_INPUT */
export function parseContentDigest(header: string | undefined, name = 'content-digest'): Digests {
  const digests: Digests = {}
  for (const text of header?.split(',') ?? []) {
    const [, key, base64] = member.exec(trimWhitespace(text)) ?? []
    const title = name === 'repr-digest' ? 'Repr-Digest' : 'Content-Digest'
    if (key === undefined || base64 === undefined) throw malformed(title, 'sha-256=:<44 characters of base64>:')
    const known = secure[key]
    if (!known) continue
    const digest = Buffer.from(base64, 'base64')
    if (digest.length !== known.bytes) throw malformed(title, 'sha-256=:<44 characters of base64>:')
    digests[known.algorithm] = digest
  }
  return digests
}

/** Maps the names of RFC 9530's registry to those of the adapter contract. Insecure algorithms are better than none. */
const stored = { 'sha-256': 'sha256', md5: 'md5', sha: 'sha1', crc32c: 'crc32c' } as const

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

/** Returns the wanted algorithms, best first. 0 means "not acceptable" (section 4). Malformed members are ignored. */
function preferred(header: string | undefined): (keyof typeof stored)[] {
  const members = (header ?? '').split(',').map(text => wanted.exec(text.trim()) ?? [])
  return members
    .flatMap(([, key, weight]) => (key !== undefined && key in stored ? [{ key, weight: Number(weight) }] : []))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ key }) => key as keyof typeof stored)
}

function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function malformed(name: string, form: string): AppError {
  return new AppError('INVALID_INPUT', `The ${name} header must have the form "${form}".`)
}

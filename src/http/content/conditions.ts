/** Conditions and byte ranges of downloads (RFC 9110, sections 13 and 14), and the entity tags and HTTP dates that they consist of. */

import type { IncomingHttpHeaders } from 'node:http'
import type { ByteRange } from '../../../adapters/contract.ts'
import { AppError } from '../../errors.ts'
import type { OpenFirst } from '../../services/files/index.ts'
import { type RequestParameters, text } from '../openapi/operation.ts'

interface EntityTag {
  weak: boolean
  opaque: string
}

const tagPattern = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/y
const fixdate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
const rfc850 =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const asctime =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

export function formatTag(etag: string): string {
  return `"${etag}"`
}

/** Parses a comma-separated list; returns null if it is malformed. */
function parseTags(header: string): EntityTag[] | null {
  const tags: EntityTag[] = []
  let at = skipSeparators(header, 0)
  while (at < header.length) {
    tagPattern.lastIndex = at
    const match = tagPattern.exec(header)
    if (!match) return null
    tags.push({ weak: match[1] !== undefined, opaque: match[2] ?? '' })
    const end = tagPattern.lastIndex
    at = skipSeparators(header, end)
    if (at < header.length && !header.slice(end, at).includes(',')) return null
  }
  return tags
}

/** Returns true if a header such as If-Match names the tag. `strong` ignores weak tags (section 8.8.3.2). */
export function namesTag(header: string, etag: string | null, comparison: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true
  if (etag === null) return false
  return (parseTags(header) ?? []).some(({ weak, opaque }) => opaque === etag && !(weak && comparison === 'strong'))
}

/** Returns milliseconds since 1970, or null if the text has none of the three date formats. */
export function parseHttpDate(text: string): number | null {
  const zoned = asctime.test(text) ? `${text} GMT` : fixdate.test(text) || rfc850.test(text) ? text : null
  const time = zoned === null ? Number.NaN : Date.parse(zoned)
  return Number.isNaN(time) ? null : time
}

/** Returns milliseconds, rounded down to seconds like an HTTP date. */
export function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}

/** Removes optional whitespace at both ends, as RFC 9110, section 5.6.3 defines it, in linear time. */
function trimWhitespace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isWhitespace(text.charCodeAt(start))) start++
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Returns the index of the list's next element at or after `start`. Skips empty elements (RFC 9110, section 5.6.1). */
function skipSeparators(list: string, start: number): number {
  let at = start
  while (at < list.length && (list[at] === ',' || isWhitespace(list.charCodeAt(at)))) at++
  return at
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** A range of bytes; `first` and `last` are positions, both included. */
export interface Span {
  first: number
  last: number
}

export type RequestedRange = { kind: 'whole' } | { kind: 'unsatisfiable' } | { kind: 'spans'; spans: Span[] }

/**
 * The maximum number of ranges. A request with more ranges gets the whole file, because many small ranges cost more
 * than they save.
 */
export const maxRanges = 16

const wholeFile: RequestedRange = { kind: 'whole' }
const specPattern = /^(\d*)-(\d*)$/

/**
 * Parses a Range header for a file of `size` bytes. A header that is malformed, too long or in another unit is ignored
 * (section 14.2). Spans that overlap or touch are joined; otherwise their order is kept.
 */
export function parseRange(header: string, size: number): RequestedRange {
  const set = /^bytes=(.*)$/i.exec(header)?.[1]
  if (set === undefined) return wholeFile
  const specs = set.split(',', 4 * maxRanges + 1).map(trimWhitespace)
  const present = specs.filter(spec => spec !== '')
  if (present.length === 0 || present.length > maxRanges || specs.length > 4 * maxRanges) return wholeFile
  const spans: Span[] = []
  for (const spec of present) {
    const span = parseSpec(spec, size)
    if (span === 'malformed' || span === 'everything') return wholeFile
    if (span !== 'unsatisfiable') spans.push(span)
  }
  return spans.length === 0 ? { kind: 'unsatisfiable' } : { kind: 'spans', spans: joinOverlapping(spans) }
}

/** Parses a Range header with one range that does not depend on the size of the file. Returns null for any other. */
function parseFixedRange(header: string): ByteRange | null {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/i.exec(header) ?? []
  const [offset, last] = [Number(from), to ? Number(to) : undefined]
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(last ?? 0)) return null
  if (last === undefined) return { offset }
  return last < offset ? null : { offset, length: last - offset + 1 }
}

function parseSpec(spec: string, size: number): Span | 'malformed' | 'everything' | 'unsatisfiable' {
  const [, from, to] = specPattern.exec(spec) ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'malformed'
  if (from === '') {
    if (Number(to) === 0) return 'unsatisfiable'
    // A suffix of an empty file is the whole file, which Content-Range cannot express.
    return size === 0 ? 'everything' : { first: Math.max(0, size - Number(to)), last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && isBelow(to, from)) return 'malformed'
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}

/** Compares exactly, whatever the number of digits. */
function isBelow(a: string, b: string): boolean {
  return BigInt(a) < BigInt(b)
}

function joinOverlapping(spans: Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.first - b.first)
  const joined: Span[] = []
  for (const span of sorted) {
    const before = joined.at(-1)
    if (before && span.first <= before.last + 1) before.last = Math.max(before.last, span.last)
    else joined.push({ ...span })
  }
  return joined.length === spans.length ? spans : joined
}

/** Identifies a version of a file. */
export interface Validators {
  etag: string | null
  modifiedAt: Date | null
}

/** The headers that decide whether and which content is sent. A malformed one is ignored, as RFC 9110 requires. */
export const downloadConditionParameters: RequestParameters = {
  Range: { description: `Up to ${maxRanges} ranges of bytes, such as \`bytes=0-499\`.`, schema: text },
  'If-Range': { description: 'An etag or a date; the range applies only to this version.', schema: text },
  'If-Match': { description: 'Etags; returns 412 for another version.', schema: text },
  'If-None-Match': { description: 'Etags; returns 304 for one of these versions.', schema: text },
  'If-Modified-Since': { description: 'A date; returns 304 if the file has not changed since.', schema: text },
  'If-Unmodified-Since': { description: 'A date; returns 412 if the file has changed since.', schema: text },
}

/** Headers whose effect on the response depends on the entry, including the checksums that only a lookup returns. */
const dependOnEntry = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'want-content-digest',
  'want-repr-digest',
] as const

/** Returns how to open the file at once if the response will have content, whatever the entry is. Otherwise returns null. */
export function openFirst(method: string, headers: IncomingHttpHeaders): OpenFirst | null {
  if (method !== 'GET' || dependOnEntry.some(name => headers[name] !== undefined)) return null
  if (headers.range === undefined) return {}
  const range = parseFixedRange(headers.range)
  return range && { range }
}

/**
 * Evaluates the conditions in the order of RFC 9110, section 13.2.2. Returns true if the client has this version: 304.
 * @throws PRECONDITION_FAILED
 */
export function isNotModified(headers: IncomingHttpHeaders, { etag, modifiedAt }: Validators): boolean {
  const match = headers['if-match']
  const unmodifiedSince = since(headers['if-unmodified-since'])
  if (match !== undefined) {
    if (!namesTag(match, etag, 'strong')) throw changed()
  } else if (unmodifiedSince !== null && modifiedAt && wholeSeconds(modifiedAt) > unmodifiedSince) throw changed()
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return namesTag(noneMatch, etag, 'weak')
  const modifiedSince = since(headers['if-modified-since'])
  return modifiedSince !== null && modifiedAt !== null && wholeSeconds(modifiedAt) <= modifiedSince
}

/** Returns true if the Range header applies: If-Range names the current version (section 13.1.5). */
export function isRangeCurrent(headers: IncomingHttpHeaders, { etag, modifiedAt }: Validators): boolean {
  const condition = headers['if-range']
  if (condition === undefined || typeof condition !== 'string') return true
  if (condition.includes('"')) return etag !== null && condition.trim() === formatTag(etag)
  const date = parseHttpDate(condition)
  if (date === null || !modifiedAt) return false
  // The file could change again within the same second and keep its date: section 8.8.2.2.
  return date === wholeSeconds(modifiedAt) && date + 1000 <= Date.now()
}

function since(header: string | undefined): number | null {
  return header === undefined ? null : parseHttpDate(header)
}

function changed(): AppError {
  return new AppError('PRECONDITION_FAILED', 'The file is no longer the version that the request requires.')
}

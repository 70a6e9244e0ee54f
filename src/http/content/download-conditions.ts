import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import type { OpenFirst } from '../../services/files/index.ts'
import { type RequestParameters, text } from '../openapi/operation.ts'
import { maxRanges, parseFixedRange } from './range.ts'
import { formatTag, namesTag, parseHttpDate, wholeSeconds } from './validators.ts'

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

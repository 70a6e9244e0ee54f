import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import { formatTag, namesTag, parseHttpDate, wholeSeconds } from './validators.ts'

/** What a file is told apart by. */
export interface Validators {
  etag: string | null
  modifiedAt: Date | null
}

/**
 * In the order of RFC 9110, section 13.2.2. True where the client has the file already: 304.
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

/** Whether a Range header counts: the client's part and ours are of one file. Section 13.1.5. */
export function isRangeGood(headers: IncomingHttpHeaders, { etag, modifiedAt }: Validators): boolean {
  const given = headers['if-range']
  if (given === undefined || typeof given !== 'string') return true
  if (given.includes('"')) return etag !== null && given.trim() === formatTag(etag)
  const date = parseHttpDate(given)
  if (date === null || !modifiedAt) return false
  // Changed again within the same second, it would still have the same date: section 8.8.2.2.
  return date === wholeSeconds(modifiedAt) && date + 1000 <= Date.now()
}

function since(header: string | undefined): number | null {
  return header === undefined ? null : parseHttpDate(header)
}

function changed(): AppError {
  return new AppError('PRECONDITION_FAILED', 'The file is no longer the version that the request asks for.')
}

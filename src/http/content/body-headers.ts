import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { isMediaType } from '../../services/files/content.ts'
import { type ConflictBehavior, conflictBehaviors, type UploadInput } from '../../services/files/index.ts'
import { awaitsContinue } from '../connection/expect-continue.ts'
import type { JsonSchema } from '../openapi/operation.ts'
import { parseDigests } from './digests.ts'

/** Types that clients send by default. The file name says more. */
const defaultTypes = new Set(['application/octet-stream', 'application/x-www-form-urlencoded'])

export const conflictSchema: JsonSchema = {
  type: 'string',
  enum: conflictBehaviors.map(behavior => behavior.toLowerCase()),
  default: 'fail',
}

/** Parses the lowercase form that the REST API uses. @throws INVALID_INPUT */
export function parseConflict(text: string | undefined): ConflictBehavior {
  if (text === undefined) return 'FAIL'
  const found = conflictBehaviors.find(behavior => behavior.toLowerCase() === text)
  if (!found) throw new AppError('INVALID_INPUT', '"conflict" must be "fail", "replace" or "rename".')
  return found
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

export const modifiedAtSchema: JsonSchema = { type: 'string', format: 'date-time' }

/** Parses the modification time of a file, in the form of RFC 3339. @throws INVALID_INPUT */
export function parseModifiedAt(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(timePattern.test(text) ? text : Number.NaN)
  if (!Number.isNaN(time.getTime())) return time
  throw new AppError('INVALID_INPUT', '"modifiedAt" must be a time such as "2026-11-22T16:41:00.000Z".')
}

/** Characters of a type with its parameters. */
const maxMimeType = 255

/**
 * Parses the type of a file in the form of a Content-Type header. Returns undefined if it says nothing about the file.
 * @throws INVALID_INPUT
 */
export function parseMimeType(text: string | undefined): string | undefined {
  const type = text?.trim() ?? ''
  const essence = type.split(';', 1)[0]?.trimEnd().toLowerCase() ?? ''
  if (type === '' || defaultTypes.has(essence)) return undefined
  if (type.length > maxMimeType || !isMediaType(type)) {
    throw new AppError(
      'INVALID_INPUT',
      `The type of a file must be a media type such as "image/png" or "text/plain; charset=utf-8" of at most ${maxMimeType} characters.`,
    )
  }
  return type
}

/** Returns the length in bytes, or undefined if it is unknown until the body ends. */
export function parseContentLength(headers: IncomingHttpHeaders): number | undefined {
  const length = headers['content-length']
  if (length !== undefined) return Number(length)
  return headers['transfer-encoding'] === undefined ? 0 : undefined
}

/** @throws UNSUPPORTED_MEDIA_TYPE, INVALID_INPUT */
export function requirePlainBody(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity') {
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the file without a Content-Encoding: the server stores the bytes unchanged.',
    )
  }
  // Storing a part as the whole file would be wrong: RFC 9110, section 14.5.
  if (headers['content-range'] !== undefined) {
    throw new AppError('INVALID_INPUT', 'An upload must be a whole file: send it without Content-Range.')
  }
}

/** Returns the body of a request as a file to store. @throws INVALID_INPUT */
export function fileBody({
  raw,
  headers,
}: FastifyRequest): Pick<UploadInput, 'body' | 'size' | 'mimeType' | 'digests' | 'isAwaiting'> {
  return {
    body: raw,
    size: parseContentLength(headers),
    mimeType: parseMimeType(headers['content-type']),
    digests: parseDigests(headers),
    isAwaiting: awaitsContinue(raw),
  }
}

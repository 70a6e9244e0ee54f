/** Reads the headers of an upload: type, time, length, digests and conditions. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { isTaken } from '../../services/files/conflict.ts'
import { isMediaType } from '../../services/files/content.ts'
import {
  type ConflictBehavior,
  conflictBehaviors,
  type UploadInput,
  type WriteCondition,
} from '../../services/files/index.ts'
import { awaitsContinue } from '../connection/body-bounds.ts'
import { type JsonSchema, type RequestParameters, text } from '../openapi/operation.ts'
import { namesTag } from './conditions.ts'
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

/** The headers that `parseUploadConditions` reads. */
export const uploadConditionParameters: RequestParameters = {
  'If-Match': { description: 'Replaces exactly the version with this etag, or with `*` any version.', schema: text },
  'If-None-Match': { description: 'With `*`, stores the file only if the name is free.', schema: text },
}

/**
 * Parses the conditions of an upload: `If-None-Match: *` requires a free name, and `If-Match` names the version to replace
 * (RFC 9110, sections 13.1.1 and 13.1.2). Both imply a value of `conflict`, which must not contradict them.
 * @throws INVALID_INPUT
 */
export function parseUploadConditions(
  headers: IncomingHttpHeaders,
  conflictText: string | undefined,
): { conflict: ConflictBehavior; condition?: WriteCondition; isConditional: boolean } {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  const conflict = parseConflict(conflictText)
  const allow = (needed: ConflictBehavior, header: string) => {
    if (conflictText === undefined || conflict === needed) return
    throw new AppError('INVALID_INPUT', `${header} requires "conflict=${needed.toLowerCase()}", or no "conflict".`)
  }
  if (match !== undefined) {
    allow('REPLACE', 'If-Match')
    return {
      conflict: 'REPLACE',
      isConditional: true,
      condition: etag =>
        etag !== undefined &&
        namesTag(match, etag, 'strong') &&
        !(noneMatch !== undefined && namesTag(noneMatch, etag, 'weak')),
    }
  }
  if (noneMatch === undefined) return { conflict, isConditional: false }
  if (noneMatch.trim() === '*') {
    allow('FAIL', 'If-None-Match: *')
    return { conflict: 'FAIL', isConditional: true }
  }
  allow('REPLACE', 'If-None-Match with etags')
  const condition: WriteCondition = etag => etag === undefined || !namesTag(noneMatch, etag, 'weak')
  return { conflict: 'REPLACE', isConditional: true, condition }
}

/** Rejects conditions of a form, because it can have several files. @throws INVALID_INPUT */
export function requireNoConditions(headers: IncomingHttpHeaders): void {
  if (headers['if-match'] !== undefined || headers['if-none-match'] !== undefined) {
    throw new AppError('INVALID_INPUT', 'A form cannot have If-Match or If-None-Match: send the file as the raw body.')
  }
}

/**
 * Settles as `storing` does. If the client sent a condition, ALREADY_EXISTS and UPLOAD_UNDER_WAY become
 * PRECONDITION_FAILED.
 */
export function settleConditional<T>(storing: Promise<T>, isConditional: boolean): Promise<T> {
  if (!isConditional) return storing
  return storing.catch(error => {
    if (!isTaken(error)) throw error
    throw new AppError('PRECONDITION_FAILED', error.message, { cause: error })
  })
}

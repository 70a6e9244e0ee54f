import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import { isTaken } from '../../services/files/conflict.ts'
import type { ConflictBehavior, WriteCondition } from '../../services/files/index.ts'
import { type RequestParameters, text } from '../openapi/operation.ts'
import { parseConflict } from './body-headers.ts'
import { namesTag } from './validators.ts'

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

import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import { type ConflictBehavior, conflictBehaviors } from '../../services/files/index.ts'

/** What clients send where they know no better; the name says more. */
const saysNothing = new Set(['application/octet-stream', 'application/x-www-form-urlencoded'])

/** Lower case outside, as in the documentation of the endpoint. @throws INVALID_INPUT */
export function parseConflict(text: string | undefined): ConflictBehavior {
  if (text === undefined) return 'FAIL'
  const found = conflictBehaviors.find(behavior => behavior.toLowerCase() === text)
  if (!found) throw new AppError('INVALID_INPUT', '"conflict" is "fail", "replace" or "rename".')
  return found
}

/** Undefined where the type says nothing about the file. */
export function parseMimeType(header: string | undefined): string | undefined {
  const essence = header?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return essence === '' || saysNothing.has(essence) ? undefined : header?.trim()
}

/** Bytes; undefined where only the end of the body tells. */
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
      'Send the file without a Content-Encoding: bytes are stored as they are.',
    )
  }
  // RFC 9110, section 14.5: a part must not be taken for the whole.
  if (headers['content-range'] !== undefined) {
    throw new AppError('INVALID_INPUT', 'An upload is a whole file: send it without Content-Range.')
  }
}

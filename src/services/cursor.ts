/** Cursors of lists that are sorted by id. */
import { isId } from '../auth/id.ts'
import { AppError } from '../errors.ts'

export function encodeIdCursor(id: string): string {
  return Buffer.from(id).toString('base64url')
}

/** @throws INVALID_CURSOR */
export function decodeIdCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!isId(id) || encodeIdCursor(id) !== cursor) throw new AppError('INVALID_CURSOR')
  return id
}

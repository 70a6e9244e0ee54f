/** Pages of lists that are sorted by id, and of which a viewer may see only some rows. */
import { isId } from '../auth/id.ts'
import type { Secrets } from '../auth/secrets.ts'
import { AppError } from '../errors.ts'

/**
 * Encodes positions as signed cursors, as lists of values that JSON can hold.
 * @param bound what a cursor is valid for, such as the credential and the folder. With another one, the cursor is invalid
 * @param of what the person has asked for
 */
export function signedCursors(secrets: Secrets, bound: readonly unknown[], of: 'list' | 'search') {
  const context = JSON.stringify(bound)
  return {
    encode: (position: readonly unknown[]): string => secrets.sign('cursor', JSON.stringify(position), context),
    /** @throws INVALID_CURSOR */
    // biome-ignore lint/suspicious/noExplicitAny: a signed cursor has the values that `encode` was given
    decode(cursor: string): any[] {
      const payload = secrets.verify('cursor', cursor, context)
      if (payload === null) {
        throw new AppError('INVALID_CURSOR', `The cursor was not made by this ${of}: start without one.`)
      }
      return JSON.parse(payload)
    },
  }
}

export function encodeIdCursor(id: string): string {
  return Buffer.from(id).toString('base64url')
}

/** @throws INVALID_CURSOR */
export function decodeIdCursor(cursor: string): string {
  if (!isIdCursor(cursor)) throw new AppError('INVALID_CURSOR')
  return Buffer.from(cursor, 'base64url').toString()
}

/** Returns whether `encodeIdCursor` has made a cursor. */
export function isIdCursor(cursor: string): boolean {
  const id = Buffer.from(cursor, 'base64url').toString()
  return isId(id) && encodeIdCursor(id) === cursor
}

/** Rows of one query, unless a page has more. */
const maxRows = 101
/** The factor by which the next query reads more rows, if the viewer may not see all rows of the last one. */
const growth = 4
/** Queries for one page. */
const maxRounds = 10

interface VisiblePage<Row> {
  rows: Row[]
  /** True also if the bound on the queries ended the page, perhaps without a row. */
  hasNext: boolean
  /** The cursor after which the next page starts; null if this page is empty and the last one. */
  endCursor: string | null
}

/**
 * Reads rows, the newest first, until `limit` of them are visible. A credential with restrictions may see only a few of
 * very many, so the number of queries is bounded, and the next page continues after the rows that were read. Rows can be large, so
 * the first query reads no more than the page needs.
 * @throws INVALID_CURSOR
 */
export async function visiblePage<Row extends { id: string }>(
  read: (page: { limit: number; before: string | null }) => Promise<readonly Row[]>,
  isVisible: (row: Row) => boolean,
  { limit, after }: { limit: number; after: string | null | undefined },
): Promise<VisiblePage<Row>> {
  let before = after == null ? null : decodeIdCursor(after)
  const visible: Row[] = []
  let isComplete = false
  let size = limit + 1
  for (let round = 0; round < maxRounds && visible.length <= limit && !isComplete; round += 1) {
    const found = await read({ limit: size, before })
    visible.push(...found.filter(isVisible))
    before = found.at(-1)?.id ?? before
    isComplete = found.length < size
    size = Math.max(size, Math.min(size * growth, maxRows))
  }
  const rows = visible.slice(0, limit)
  const hasNext = visible.length > limit || !isComplete
  // An invisible row is named only if the next page has to start there.
  const last = hasNext && visible.length <= limit ? before : rows.at(-1)?.id
  return { rows, hasNext, endCursor: last == null ? null : encodeIdCursor(last) }
}

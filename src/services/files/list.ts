/** Lists a folder page by page, in the order of its back end. */
import type { Secrets } from '../../auth/secrets.ts'
import { AppError } from '../../errors.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import { fault } from '../../storage/validate-entry.ts'
import { entryIn, type FileEntry } from './entry.ts'
import { CursorCheck } from './tree.ts'

export interface EntryPage {
  /** A cursor is made when it is read, because those of 1,000 entries would take 1,000 signatures. */
  items: { entry: FileEntry; readonly cursor: string }[]
  hasNext: boolean
}

/**
 * The position at which a listing continues: after the first `skip` entries of the back end's page that starts at
 * `page`.
 */
interface Position {
  /** The back end's cursor; null is the first page. */
  page: string | null
  skip: number
  /** The name of the last entry to skip, because entries before it may have been added or removed. */
  last: string | null
}

/** The maximum number of consecutive empty pages that a back end may return. */
const maxEmptyPages = 1000

const start: Position = { page: null, skip: 0, last: null }

/** Encodes positions as signed cursors. A cursor is valid for one folder and one credential. */
interface CursorCodec {
  encode(position: Position): string
  /** @throws INVALID_CURSOR */
  decode(cursor: string): Position
}

export function cursorCodec(secrets: Secrets, context: readonly string[]): CursorCodec {
  const bound = JSON.stringify(['entries', ...context])
  return {
    encode: ({ page, skip, last }) => secrets.sign('cursor', JSON.stringify([page, skip, last]), bound),
    decode(cursor) {
      const payload = secrets.verify('cursor', cursor, bound)
      if (payload === null)
        throw new AppError('INVALID_CURSOR', 'The cursor was not made by this list: start without one.')
      const [page, skip, last] = JSON.parse(payload)
      return { page, skip, last }
    },
  }
}

export async function listPage(
  folder: ReadLocation,
  options: { first: number; after: string | null; codec: CursorCodec },
  signal: AbortSignal,
): Promise<EntryPage> {
  const { first, after, codec } = options
  let position = after === null ? start : codec.decode(after)
  const items: EntryPage['items'] = []
  for (let emptyPages = 0; emptyPages < maxEmptyPages; ) {
    const wanted = first - items.length
    const { entries, cursor } = await folder.list(signal, { cursor: position.page, limit: position.skip + wanted })
    const skipped = countSkipped(entries, position)
    for (const [index, entry] of entries.slice(0, skipped + wanted).entries()) {
      if (index < skipped) continue
      const endsPage = index === entries.length - 1 && cursor !== null
      const next = endsPage
        ? { page: cursor, skip: 0, last: null }
        : { page: position.page, skip: index + 1, last: entry.name }
      items.push({
        entry: entryIn(folder, entry),
        get cursor() {
          return codec.encode(next)
        },
      })
    }
    const hasNext = cursor !== null || entries.length > skipped + wanted
    if (!hasNext || items.length === first) return { items, hasNext }
    if (cursor !== null) position = { page: cursor, skip: 0, last: null }
    if (entries.length === skipped) emptyPages++
  }
  throw fault('nothing but empty pages')
}

/** Yields the pages of a folder; none of a file. */
export async function* entryPages(
  folder: ReadLocation,
  { kind }: Pick<FileEntry, 'kind'>,
  signal: AbortSignal,
): AsyncGenerator<FileEntry[], void, undefined> {
  if (kind === 'file') return
  const cursors = new CursorCheck()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<ReadLocation['list']>> = await folder.list(signal, { cursor, limit: maxPageSize })
    yield page.entries.map(entry => entryIn(folder, entry))
    cursor = page.cursor
    cursors.check(cursor)
  } while (cursor !== null)
}

/**
 * Returns how many entries were already listed. If the last listed entry was removed, a page that is sorted by name still
 * shows the position. In an unsorted page, listing an entry twice is better than skipping one.
 */
function countSkipped(entries: readonly { name: string }[], { last }: Position): number {
  if (last === null) return 0
  const index = entries.findIndex(entry => entry.name === last)
  if (index >= 0) return index + 1
  const isBehind = entries.map(entry => compareNames(entry.name, last) > 0)
  const isOrdered = entries.every((entry, at) => at === 0 || compareNames(entries[at - 1]?.name ?? '', entry.name) < 0)
  return isOrdered ? isBehind.filter(behind => !behind).length : 0
}

/** Compares texts by their code points, which is the order of their bytes in UTF-8, as file systems and object stores do. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (one !== other) return rankOf(one) - rankOf(other)
  }
  return a.length - b.length
}

/** Puts surrogates, which begin code points above U+FFFF, after all other UTF-16 code units. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

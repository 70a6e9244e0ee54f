/**
 * Lists a folder page by page, in the order of its back end, or from the middle in the order of keys where the back end
 * has an order.
 */
import { isName } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { AppError, type Reason } from '../../errors.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import { type CheckedEntry, fault } from '../../storage/validate-entry.ts'
import { signedCursors } from '../paging.ts'
import { entryIn, type FileEntry } from './entry.ts'
import { CursorCheck, children } from './tree.ts'

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
  const cursors = signedCursors(secrets, ['entries', ...context], 'list')
  return {
    encode: ({ page, skip, last }) => cursors.encode([page, skip, last]),
    decode(cursor) {
      const [page, skip, last] = cursors.decode(cursor)
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

/** The children of a folder that a listing can begin with. Children before them may be yielded as well. */
export interface ChildrenFrom {
  /** All children whose parts come after this text, and the folder that it leads into. Empty for all. */
  after: string
  /** All children whose names begin with this text. */
  prefix: string
}

/** Yields children in the order of their parts. */
export async function* orderedChildren(
  folder: ReadLocation,
  order: 'names' | 'keys',
  { after, prefix }: ChildrenFrom,
  signal: AbortSignal,
): AsyncGenerator<KeyedChild, void, undefined> {
  const waiting = order === 'names' ? await foldersBefore(folder, after, signal) : []
  const start = startOf(after, order)
  const from = compareNames(prefix, start) > 0 ? prefix : start
  for await (const entry of children(folder, signal, from)) {
    const child = keyed(entry)
    // Nothing that follows begins with the prefix.
    if (compareNames(entry.name, prefix) > 0 && !entry.name.startsWith(prefix)) break
    while (isBefore(waiting.at(-1), entry.name)) yield waiting.pop() as KeyedChild
    // Files such as "a-b" come between a folder "a" and its part "a/".
    if (order === 'names' && entry.kind === 'directory') waiting.push(child)
    else yield child
  }
  yield* waiting.toReversed()
}

function isBefore(child: KeyedChild | undefined, name: string): boolean {
  return child !== undefined && compareNames(child.part, name) < 0
}

/** Characters of a text to continue after: those behind them make no difference that matters. */
const maxLength = 255

/** Returns the text at which the listing begins. */
function startOf(text: string, order: 'names' | 'keys'): string {
  const after = (text.split('\0', 1)[0] ?? '').slice(0, maxLength).toWellFormed()
  const slash = after.indexOf('/')
  // A folder with this name comes later as a key. No name contains NUL, so what follows a file is its name with NUL.
  if (slash < 0) return after === '' || order === 'names' ? after : `${after}\0`
  const isInside = slash < after.length - 1
  // "0" is the character after "/".
  return isInside && order === 'keys' ? after.slice(0, slash + 1) : `${after.slice(0, slash)}0`
}

const slashCode = '/'.charCodeAt(0)

/**
 * Returns the folders whose names come before the start of the listing, but not their parts: "a" comes before "a-b", but "a/" after
 * it. The last one comes first.
 */
async function foldersBefore(folder: ReadLocation, after: string, signal: AbortSignal): Promise<KeyedChild[]> {
  const names: string[] = []
  for (let end = 1; end < Math.min(after.length, maxLength) && after[end - 1] !== '/'; end++) {
    if (after.charCodeAt(end) <= slashCode) names.push(after.slice(0, end))
  }
  const found = await Promise.all(names.filter(isName).map(name => folderAt(folder, name, signal)))
  return found.flatMap(entry => (entry ? [keyed(entry)] : []))
}

async function folderAt(parent: ReadLocation, name: string, signal: AbortSignal): Promise<CheckedEntry | null> {
  try {
    const entry = await parent.child(name).stat(signal)
    return entry.kind === 'directory' ? entry : null
  } catch (error) {
    if (isMissingChild(error)) return null
    throw error
  }
}

/** A child of a folder with its part of the key: its name, and for a folder a "/" behind it. */
export interface KeyedChild {
  part: string
  entry: CheckedEntry
}

export function keyed(entry: CheckedEntry): KeyedChild {
  return { part: entry.kind === 'directory' ? `${entry.name}/` : entry.name, entry }
}

/** The entry was deleted, or its folder was replaced by a file, or the back end supports no such name. */
const ofMissing: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER', 'INVALID_PATH'])

export function isMissingChild(error: unknown): boolean {
  return error instanceof AppError && ofMissing.has(error.reason)
}

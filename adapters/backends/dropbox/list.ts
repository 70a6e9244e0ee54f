import type { Entry, ListPage, StoragePath } from '../../contract.ts'
import { toEntry } from './entry.ts'
import { type DropboxFiles, isPresent } from './files.ts'

/** A place in a listing: the page that `from` returns, without its first entries. */
interface Position {
  /** Dropbox's cursor; the empty string for the first page. */
  from: string
  /** The number of entries of that page that were returned before. */
  skip: number
  /** The id of the first entry that was not. */
  nextId: string
}

/**
 * Returns one page of a folder, of one or several pages of Dropbox, whose size the first request decides. Dropbox may return
 * some more entries than requested. The rest of such a page is returned by the next call, which requests the same page again.
 */
export async function listPage(
  files: DropboxFiles,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const entries: Entry[] = []
  let position = cursor === undefined ? start : parse(cursor)
  for (;;) {
    const { from, skip, nextId } = position
    const page = from === '' ? await files.list(path, limit, signal) : await files.listMore(from, signal)
    const found = [...new Map(page.entries.filter(isPresent).map(entry => [entry.id, entry])).values()]
    const index = found.findIndex(({ id }) => id === nextId)
    // Entries that were deleted since are missing from the page. If the next one is, the others moved up.
    const begin = index >= 0 ? index : Math.min(skip, found.length)
    const end = Math.min(found.length, begin + limit - entries.length)
    entries.push(...found.slice(begin, end).map(entry => toEntry(entry.name, entry)))
    const next = found[end]
    if (next) return { entries, cursor: format({ from, skip: end, nextId: next.id }) }
    if (!page.has_more) return { entries }
    position = { from: page.cursor, skip: 0, nextId: '' }
    if (entries.length >= limit) return { entries, cursor: format(position) }
  }
}

const start: Position = { from: '', skip: 0, nextId: '' }

function format({ from, skip, nextId }: Position): string {
  return `${skip}.${nextId}.${from}`
}

function parse(cursor: string): Position {
  const [skip = '', nextId = ''] = cursor.split('.', 2)
  return { skip: Number(skip), nextId, from: cursor.slice(skip.length + nextId.length + 2) }
}

import type { Entry, ListPage, StoragePath } from '../contract.ts'
import { toEntry } from './entry.ts'
import { type DropboxFiles, type FolderPage, isPresent } from './files.ts'

/** A place in a listing: the page that `from` returns, without its first entries. */
interface Position {
  /** Dropbox's cursor; the empty string for the first page. */
  from: string
  /** The number of entries of that page that were returned before. */
  skip: number
  /** The id of the last of them. */
  lastId: string
}

/**
 * Returns one page of a folder. Dropbox may return some more entries than requested. The rest of such a page is returned by the
 * next call, which requests the same page again.
 */
export async function listPage(
  files: DropboxFiles,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const { from, skip, lastId } = cursor === undefined ? start : parse(cursor)
  const page = from === '' ? await files.list(path, limit, signal) : await files.listMore(from, signal)
  const found = [...new Map(page.entries.filter(isPresent).map(entry => [entry.id, entry])).values()]
  const index = found.findIndex(({ id }) => id === lastId)
  // If the last entry was deleted since, the others moved up.
  const begin = index >= 0 ? index + 1 : Math.max(0, skip - 1)
  const entries: Entry[] = found.slice(begin, begin + limit).map(entry => toEntry(entry.name, entry))
  const end = begin + entries.length
  if (end < found.length) return { entries, cursor: format({ from, skip: end, lastId: found[end - 1]?.id ?? '' }) }
  return page.has_more ? { entries, cursor: format(next(page)) } : { entries }
}

const start: Position = { from: '', skip: 0, lastId: '' }

const next = ({ cursor }: FolderPage): Position => ({ from: cursor, skip: 0, lastId: '' })

function format({ from, skip, lastId }: Position): string {
  return `${skip}.${lastId}.${from}`
}

function parse(cursor: string): Position {
  const [skip = '', lastId = ''] = cursor.split('.', 2)
  return { skip: Number(skip), lastId, from: cursor.slice(skip.length + lastId.length + 2) }
}

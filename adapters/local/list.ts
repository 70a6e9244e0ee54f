import { type FileHandle, lstat } from 'node:fs/promises'
import type { Entry, ListPage } from '../contract.ts'
import { toEntry } from './entry.ts'
import { hasErrno } from './errors.ts'
import { Gate } from './gate.ts'
import { directoryOf, type NameLists } from './name-lists.ts'
import { bytesOf, decodeName, inside } from './names.ts'
import { namesAfter } from './packed-names.ts'

/** Names taken beyond the limit, to fill the page where some turn out to be nothing that is served. */
const spareNames = 32

/** lstat(2) calls of one page under way at once, and pages that may do so: the thread pool is everybody's. */
const statsAtOnce = 32
const pages = new Gate(2)

export interface Selection {
  cursor: string | undefined
  limit: number
  signal: AbortSignal
  lists: NameLists
  /** Told once per page. */
  onInvalidNames(names: readonly Buffer[]): void
}

/**
 * Ordered by the bytes of the names, which is the order of their code points. The first page of a walk reads the names of
 * the directory; the others take them from `lists` while they are kept there. Only about a page of names is ever looked at
 * closer, so a page may come out short, with a cursor, where links or names that are not UTF-8 stand in a row.
 */
export async function listPage(
  handle: FileHandle,
  { cursor, limit, signal, lists, onInvalidNames }: Selection,
): Promise<ListPage> {
  const directory = await directoryOf(handle)
  const { since, after } = cursor === undefined ? start : decodeCursor(cursor)
  const list = (since !== undefined && lists.recent(directory, since)) || (await lists.read(handle, directory))
  const { names, more } = namesAfter(list.names, after, limit + spareNames)
  if (more) lists.keep(directory, list)
  const entries: Entry[] = []
  const invalid: Buffer[] = []
  let looked = 0
  while (looked < names.length && entries.length < limit) {
    const batch = names.slice(looked, looked + Math.min(statsAtOnce, limit - entries.length))
    const found = await pages.through(async () => {
      signal.throwIfAborted()
      return await Promise.allSettled(batch.map(name => lookAt(handle, name, invalid)))
    })
    for (const result of found) {
      if (result.status === 'rejected') throw result.reason
      if (result.value) entries.push(result.value)
    }
    looked += batch.length
  }
  if (invalid.length > 0) onInvalidNames(invalid)
  const last = names[looked - 1]
  const isEnd = last === undefined || (!more && looked === names.length)
  return isEnd ? { entries } : { entries, cursor: encodeCursor(since ?? directory.changedAt, last) }
}

async function lookAt(directory: FileHandle, latin1Name: string, invalid: Buffer[]): Promise<Entry | undefined> {
  const bytes = bytesOf(latin1Name)
  const name = decodeName(bytes)
  if (name === undefined) {
    invalid.push(bytes)
    return undefined
  }
  try {
    return toEntry(name, await lstat(inside(directory, bytes), { bigint: true }))
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

interface Position {
  /** What was there at this ctime of the directory was there when the walk began; undefined where that is not known. */
  since: bigint | undefined
  /** As Latin-1. */
  after: string
}

const start: Position = { since: undefined, after: '' }
const cursorPattern = /^(-?[0-9]{1,20})\.([\w-]*)$/

function encodeCursor(since: bigint, latin1Name: string): string {
  return `${since}.${bytesOf(latin1Name).toString('base64url')}`
}

/** Any other text is some position in the order of names too, so a cursor cannot be bad. */
function decodeCursor(cursor: string): Position {
  const [, since, name = cursor] = cursorPattern.exec(cursor) ?? []
  return {
    since: since === undefined ? undefined : BigInt(since),
    after: Buffer.from(name, 'base64url').toString('latin1'),
  }
}

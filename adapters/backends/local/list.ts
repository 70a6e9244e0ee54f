import { isUtf8 } from 'node:buffer'
import { type FileHandle, lstat } from 'node:fs/promises'
import type { Entry, ListPage } from '../../contract.ts'
import { toEntry } from './entry.ts'
import { hasErrno } from './errors.ts'
import { directoryOf, type NameLists, namesAfter } from './name-lists.ts'
import { bytesOf, inside } from './names.ts'

/** Runs at most `width` calls at a time, in the order of their arrival. */
class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(width: number) {
    this.#free = width
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}

/** The number of names to read beyond the limit, since some may be entries that the provider does not serve. */
const spareNames = 32

/**
 * The maximum number of concurrent lstat(2) calls of a page, and of pages that make them, as all work shares the thread
 * pool.
 */
const statsAtOnce = 32
const pageReads = new Semaphore(2)

export interface Selection {
  cursor: string | undefined
  /** Leaves out the names before this text. */
  from: string | undefined
  limit: number
  signal: AbortSignal
  lists: NameLists
  /** Returns the entries of names all at once, or null where they have to be looked at one by one. */
  stats(names: readonly string[]): Promise<readonly (Entry | null)[] | null>
  /** Called once per page that has names which are not UTF-8. */
  onInvalidNames(names: readonly Buffer[]): void
}

/**
 * Returns one page of a directory, sorted by the bytes of the names, which is the order of their code points. The first page
 * of a walk reads all names; later pages use the list cached in `lists`. It calls lstat(2) for about one page of names, so a
 * page with a cursor may have few entries where many links or names that are not UTF-8 follow each other.
 */
export async function listPage(
  handle: FileHandle,
  { cursor, from, limit, signal, lists, stats, onInvalidNames }: Selection,
): Promise<ListPage> {
  const directory = await directoryOf(handle)
  const { since, after } = cursor === undefined ? startAt(from, directory.changedAt) : decodeCursor(cursor)
  const list = (since !== undefined && lists.cached(directory, since)) || (await lists.read(handle, directory))
  const { names, more } = namesAfter(list.names, after, limit + spareNames)
  if (more) lists.cache(directory, list)
  const entries: Entry[] = []
  const invalid: Buffer[] = []
  let checked = 0
  while (checked < names.length && entries.length < limit) {
    const batch = names.slice(checked, checked + Math.min(statsAtOnce, limit - entries.length))
    const valid = batch.filter(name => isUtf8(bytesOf(name)))
    if (valid.length < batch.length) invalid.push(...batch.map(bytesOf).filter(bytes => !isUtf8(bytes)))
    const found = await pageReads.run(async () => {
      signal.throwIfAborted()
      return (await stats(valid)) ?? (await entriesOf(handle, valid))
    })
    for (const entry of found) if (entry) entries.push(entry)
    checked += batch.length
  }
  if (invalid.length > 0) onInvalidNames(invalid)
  const last = names[checked - 1]
  const isEnd = last === undefined || (!more && checked === names.length)
  return isEnd ? { entries } : { entries, cursor: encodeCursor(since ?? directory.changedAt, last) }
}

async function entriesOf(directory: FileHandle, latin1Names: readonly string[]): Promise<(Entry | undefined)[]> {
  const results = await Promise.allSettled(latin1Names.map(name => entryOf(directory, bytesOf(name))))
  return results.map(result => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

async function entryOf(directory: FileHandle, bytes: Buffer): Promise<Entry | undefined> {
  try {
    return toEntry(bytes.toString('utf8'), await lstat(inside(directory, bytes), { bigint: true }))
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

interface Position {
  /** The ctime of the directory when the walk began: pages need a list that includes this change. Undefined if unknown. */
  since: bigint | undefined
  /** The last name of the page before, as Latin-1. */
  after: string
}

/** A walk that begins in the middle may use a cached list that includes all changes until now. */
function startAt(from: string | undefined, now: bigint): Position {
  if (!from) return { since: undefined, after: '' }
  const bytes = Buffer.from(from)
  const last = bytes.at(-1) ?? 0
  // The byte 0xff occurs in no name of UTF-8.
  const before = last === 0 ? [] : [last - 1, 0xff]
  return { since: now, after: Buffer.from([...bytes.subarray(0, -1), ...before]).toString('latin1') }
}

const cursorPattern = /^(-?[0-9]{1,20})\.([\w-]*)$/

function encodeCursor(since: bigint, latin1Name: string): string {
  return `${since}.${bytesOf(latin1Name).toString('base64url')}`
}

/** Decodes a cursor. Any other text is a position in the order of names, too, so there are no invalid cursors. */
function decodeCursor(cursor: string): Position {
  const [, since, name = cursor] = cursorPattern.exec(cursor) ?? []
  return {
    since: since === undefined ? undefined : BigInt(since),
    after: Buffer.from(name, 'base64url').toString('latin1'),
  }
}

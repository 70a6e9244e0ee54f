import { isUtf8 } from 'node:buffer'
import { type FileHandle, lstat, readdir } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Capacity, LruMap } from '../../bases/limits.ts'
import type { Entry, ListPage } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { bytesOf, inside, isReserved, self, toEntry } from './names.ts'

/** The number of names to read beyond the limit, since some may be entries that the provider does not serve. */
const spareNames = 32

/** The names that are looked at together. */
export const namesAtOnce = 128
/**
 * The maximum number of concurrent lstat(2) calls of a page, and of pages that make them, as all work shares the thread
 * pool.
 */
const statsAtOnce = 32
const pageReads = new Capacity(2)

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
    const batch = names.slice(checked, checked + Math.min(namesAtOnce, limit - entries.length))
    const valid = batch.filter(name => isUtf8(bytesOf(name)))
    if (valid.length < batch.length) invalid.push(...batch.map(bytesOf).filter(bytes => !isUtf8(bytes)))
    const found = await pageReads.run(signal, async () => (await stats(valid)) ?? (await entriesOf(handle, valid)))
    for (const entry of found) if (entry) entries.push(entry)
    checked += batch.length
  }
  if (invalid.length > 0) onInvalidNames(invalid)
  const last = names[checked - 1]
  const isEnd = last === undefined || (!more && checked === names.length)
  return isEnd ? { entries } : { entries, cursor: encodeCursor(since ?? directory.changedAt, last) }
}

async function entriesOf(directory: FileHandle, latin1Names: readonly string[]): Promise<(Entry | undefined)[]> {
  const entries: (Entry | undefined)[] = []
  for (let start = 0; start < latin1Names.length; start += statsAtOnce) {
    const some = latin1Names.slice(start, start + statsAtOnce)
    const results = await Promise.allSettled(some.map(name => entryOf(directory, bytesOf(name))))
    for (const result of results) {
      if (result.status === 'rejected') throw result.reason
      entries.push(result.value)
    }
  }
  return entries
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

/** The maximum size of the cache in bytes. A directory with more bytes of names is read again for each page. */
const defaultMaxBytes = 64 * 1024 * 1024

/** A list that is not used for this many milliseconds leaves the cache. */
const idleTime = 60_000

/** Nanoseconds, longer than a step of the kernel's clock, and of file systems that store whole seconds (vfat, ext3). */
const clockStep = 50_000_000n
const coarseClockStep = 2_000_000_000n

/** A directory at one moment. */
interface Directory {
  key: string
  /** The last change of its entries, in nanoseconds of the file system's clock. */
  changedAt: bigint
}

interface NameList {
  names: PackedNames
  /** The list includes every change up to this ctime. */
  completeTo: bigint
}

interface CachedList extends NameList {
  expiry: NodeJS.Timeout
}

interface Reading {
  current: Promise<NameList>
  next?: Promise<NameList>
}

/**
 * A cache of the names in directories for all walks of this process, so that a walk reads its directory once and not for each
 * page. A walk uses a cached list only if the list includes all changes before the start of the walk, on any replica.
 */
export class NameLists {
  readonly #cached: LruMap<string, CachedList>
  readonly #reading = new Map<string, Reading>()

  constructor(maxBytes: number = defaultMaxBytes) {
    this.#cached = new LruMap(maxBytes, {
      sizeOf: ({ names }) => names.length,
      onDrop: ({ expiry }) => clearTimeout(expiry),
    })
  }

  /**
   * Reads the directory now. Callers that wait for the same directory share one read, which begins after their calls, because
   * a read that began earlier may miss entries that exist now.
   * @param handle must stay open until this settles
   */
  async read(handle: FileHandle, directory: Directory): Promise<NameList> {
    const reading = this.#reading.get(directory.key)
    if (!reading) return await this.#begin(handle, directory)
    reading.next ??= reading.current.then(
      () => this.#begin(handle, directory),
      () => this.#begin(handle, directory),
    )
    return await reading.next
  }

  /** Returns a cached list that includes all changes up to `since`, if any. */
  cached({ key }: Directory, since: bigint): NameList | undefined {
    const entry = this.#cached.get(key)
    if (!entry || entry.completeTo < since) return undefined
    entry.expiry.refresh()
    return entry
  }

  /** Caches a list for the next pages. */
  cache({ key }: Directory, list: NameList): void {
    if (this.#cached.get(key)?.names === list.names) return
    this.#cached.set(key, { ...list, expiry: setTimeout(() => this.#cached.delete(key), idleTime).unref() })
  }

  #begin(handle: FileHandle, directory: Directory): Promise<NameList> {
    const reading: Reading = { current: readNames(handle, directory) }
    this.#reading.set(directory.key, reading)
    const end = () => {
      if (!reading.next) this.#reading.delete(directory.key)
    }
    reading.current.then(end, end)
    return reading.current
  }
}

async function directoryOf(handle: FileHandle): Promise<Directory> {
  const { dev, ino, ctimeNs } = await handle.stat({ bigint: true })
  return { key: `${dev}:${ino}`, changedAt: ctimeNs }
}

/**
 * Reads all names. `readdir` without types is as fast as an `opendir` stream. With types, Node would call a synchronous lstat
 * for each name where the file system stores no types (NFS).
 */
async function readNames(handle: FileHandle, { changedAt }: Directory): Promise<NameList> {
  // Another change within the same step of the clock gets the same ctime and may be missing.
  const step = changedAt % 1_000_000_000n === 0n ? coarseClockStep : clockStep
  const isSettled = BigInt(Date.now()) * 1_000_000n - changedAt > step
  const all = await readdir(self(handle), { encoding: 'latin1' })
  // Let other work run first: in a large directory, reading and packing each take tens of milliseconds without a pause.
  await nextTurn()
  const names = packNames(all.filter(name => !isReserved(name)))
  return { names, completeTo: isSettled ? changedAt : changedAt - 1n }
}

/**
 * The sorted names of a directory in one string, each followed by `/`, which no name contains. A million names cost their
 * bytes and one object, and a binary search finds a name.
 */
type PackedNames = string & { readonly __packedNames: true }

/**
 * @param names as Latin-1, one character per byte. libuv returns them sorted, without promising it; sorting again is
 * cheap.
 */
export function packNames(names: string[]): PackedNames {
  names.sort()
  return (names.length === 0 ? '' : `${names.join('/')}/`) as PackedNames
}

/** Returns the first `count` names after `after`, in order. `more` is true if others follow. */
export function namesAfter(packed: PackedNames, after: string, count: number): { names: string[]; more: boolean } {
  const names: string[] = []
  let start = startAfter(packed, after)
  while (start < packed.length && names.length < count) {
    const end = packed.indexOf('/', start)
    names.push(packed.slice(start, end))
    start = end + 1
  }
  return { names, more: start < packed.length }
}

/** Returns the position at which the first name after `after` begins. */
function startAfter(packed: PackedNames, after: string): number {
  let low = 0
  let high = packed.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle === 0 ? 0 : packed.lastIndexOf('/', middle - 1) + 1
    const end = packed.indexOf('/', middle)
    if (packed.slice(start, end) <= after) low = end + 1
    else high = start
  }
  return low
}

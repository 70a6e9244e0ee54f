import { type FileHandle, lstat, readdir } from 'node:fs/promises'
import type { Entry, ListPage } from '../contract.ts'
import { toEntry } from './entry.ts'
import { hasErrno } from './errors.ts'
import { bytesOf, decodeName, inside, isReserved, self } from './names.ts'

/** Names taken beyond the limit, to fill the page where some turn out to be nothing that is served. */
const spareNames = 32

/** lstat(2) calls under way for one page: the thread pool is everybody's. */
const statsAtOnce = 32

export interface Selection {
  cursor: string | undefined
  limit: number
  signal: AbortSignal
  /** Told once per page. */
  onInvalidNames(names: readonly Buffer[]): void
}

/**
 * Ordered by the bytes of the names, which is the order of their code points.
 *
 * `readdir` without types, as measured: it costs what an `opendir` stream costs, and where the disk keeps no types (NFS)
 * Node would ask for each one with a synchronous lstat. Only about a page of names is ever looked at closer, so a page
 * may come out short, with a cursor, where links or names that are not UTF-8 stand in a row.
 */
export async function listPage(
  directory: FileHandle,
  { cursor, limit, signal, onInvalidNames }: Selection,
): Promise<ListPage> {
  const all = await readdir(self(directory), { encoding: 'latin1' })
  signal.throwIfAborted()
  const { names, more } = smallestAfter(all, cursor === undefined ? '' : decodeCursor(cursor), limit + spareNames)
  const entries: Entry[] = []
  const invalid: Buffer[] = []
  let looked = 0
  while (looked < names.length && entries.length < limit) {
    signal.throwIfAborted()
    const batch = names.slice(looked, looked + Math.min(statsAtOnce, limit - entries.length))
    const found = await Promise.allSettled(batch.map(name => lookAt(directory, bytesOf(name), invalid)))
    for (const result of found) {
      if (result.status === 'rejected') throw result.reason
      if (result.value) entries.push(result.value)
    }
    looked += batch.length
  }
  if (invalid.length > 0) onInvalidNames(invalid)
  const last = names[looked - 1]
  return last !== undefined && (more || looked < names.length) ? { entries, cursor: encodeCursor(last) } : { entries }
}

async function lookAt(directory: FileHandle, bytes: Buffer, invalid: Buffer[]): Promise<Entry | undefined> {
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

/** Sorted; without sorting what is not asked for. `more` says whether larger ones were left out. */
export function smallestAfter(
  names: readonly string[],
  after: string,
  count: number,
): { names: string[]; more: boolean } {
  const smallest: string[] = []
  let more = false
  for (const name of names) {
    if (name <= after || isReserved(name)) continue
    const largest = smallest.at(-1)
    if (smallest.length === count && largest !== undefined && name > largest) {
      more = true
      continue
    }
    insertSorted(smallest, name)
    if (smallest.length > count) {
      smallest.pop()
      more = true
    }
  }
  return { names: smallest, more }
}

function insertSorted(sorted: string[], name: string): void {
  let low = 0
  let high = sorted.length
  // libuv hands names out in byte order (without promising it): then this is one comparison.
  const last = sorted.at(-1)
  if (last === undefined || last < name) low = high
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? '') < name) low = middle + 1
    else high = middle
  }
  sorted.splice(low, 0, name)
}

function encodeCursor(latin1Name: string): string {
  return bytesOf(latin1Name).toString('base64url')
}

/** Any text is some position in the order of names, so a cursor cannot be bad. */
function decodeCursor(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString('latin1')
}

/** Lists a folder from the middle in the order of keys, where the back end has an order. */
import { isName } from '../../auth/path.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { compareNames } from './list.ts'
import { children } from './tree.ts'

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

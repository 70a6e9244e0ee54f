/** Walks a folder page by page. */
import { AppError } from '../../errors.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import { type CheckedEntry, fault } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'

/** The maximum depth, which no sensible tree has. It bounds the walk if the back end returns a loop. */
const maxDepth = 512

/** @param from a text in the order of the back end, if it has one: entries before it may be left out */
export async function* children(
  folder: ReadLocation,
  signal: AbortSignal,
  from = '',
): AsyncGenerator<CheckedEntry, void, undefined> {
  const cursors = new CursorCheck()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<ReadLocation['list']>> = await folder.list(signal, {
      cursor,
      from,
      limit: maxPageSize,
    })
    yield* page.entries
    cursor = page.cursor
    cursors.check(cursor)
  } while (cursor !== null)
}

/** Finds any cycle of the cursors of one listing, while it remembers one of them: Brent's algorithm. */
export class CursorCheck {
  #marked: string | null = null
  #pages = 0
  #nextMark = 1

  /** Call this with the cursor of each page. @throws BACK_END_FAULT */
  check(cursor: string | null): void {
    if (cursor === null) return
    if (cursor === this.#marked) throw fault('cursors that repeat, so the listing would not end')
    this.#pages += 1
    if (this.#pages !== this.#nextMark) return
    this.#marked = cursor
    this.#nextMark *= 2
  }
}

/**
 * Deletes a folder and everything below it.
 * @param remove deletes a file. Default: for good, and the whole folder in one step if the back end can
 * @throws NOT_EMPTY if an entry was added meanwhile or was not listed
 */
export async function deleteTree(
  folder: WriteLocation,
  signal: AbortSignal,
  remove: ((file: WriteLocation, entry: CheckedEntry, signal: AbortSignal) => Promise<void>) | null = null,
  depth = 0,
): Promise<void> {
  const deletion = remove ? null : folder.deleteTree(signal)
  if (deletion) return deletion
  requireDepth(depth)
  for await (const entry of children(folder, signal)) {
    const child = folder.child(entry.name)
    if (entry.kind === 'directory') await deleteTree(child, signal, remove, depth + 1)
    else await (remove ? remove(child, entry, signal) : child.delete(signal, entry))
  }
  await folder.delete(signal)
}

/** @throws INVALID_INPUT */
export function requireDepth(depth: number): void {
  const error = depthError(depth)
  if (error) throw error
}

/** Returns the error for a folder that is too deep, and otherwise null. */
export function depthError(depth: number): AppError | null {
  return depth > maxDepth ? new AppError('INVALID_INPUT', `The folder is deeper than ${maxDepth} folders.`) : null
}

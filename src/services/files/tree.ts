/** Walks over what lies below a folder, page by page. */
import { type CheckedEntry, fault } from '../../storage/entries.ts'
import { exactBody } from '../../storage/exact-body.ts'
import { maxPageSize, type ReadLocation, type WriteLocation } from '../../storage/location.ts'
import { isMissing } from './conflict.ts'

/** Deeper than any sensible tree, and than what a loop at the back end could be told from. */
const maxDepth = 512

export async function* children(
  folder: ReadLocation,
  signal: AbortSignal,
): AsyncGenerator<CheckedEntry, void, undefined> {
  let cursor: string | null = null
  let marked: string | null = null
  for (let pages = 1, nextMark = 1; ; pages += 1) {
    const page: Awaited<ReturnType<ReadLocation['list']>> = await folder.list(signal, { cursor, limit: maxPageSize })
    yield* page.entries
    cursor = page.cursor
    if (cursor === null) return
    // Brent's way to find any circle while remembering one cursor only.
    if (cursor === marked) throw fault('cursors that lead back to where they were')
    if (pages !== nextMark) continue
    marked = cursor
    nextMark *= 2
  }
}

/** Removes a folder and all below it. @throws NOT_EMPTY where something came or could not be listed meanwhile */
export async function deleteTree(folder: WriteLocation, signal: AbortSignal, depth = 0): Promise<void> {
  const whole = folder.deleteTree(signal)
  if (whole) return whole
  if (depth > maxDepth) throw new Error(`A tree is deeper than ${maxDepth} folders`)
  for await (const entry of children(folder, signal)) {
    const child = folder.child(entry.name)
    if (entry.kind === 'directory') await deleteTree(child, signal, depth + 1)
    else await child.delete(signal)
  }
  await folder.delete(signal)
}

/** Copies one file, inside the back end where it can; else its bytes go through this server. */
export async function copyFile(
  source: ReadLocation,
  target: WriteLocation,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<CheckedEntry> {
  const copied = await target.copyFrom(source, signal, { overwrite })
  if (copied) return copied
  const { body, entry } = await source.read(signal)
  try {
    return await target.write(signal, exactBody(body, entry.size), {
      overwrite,
      ...(entry.size !== null && { size: entry.size }),
      ...(entry.mimeType !== null && { mimeType: entry.mimeType }),
    })
  } finally {
    body.destroy()
  }
}

/** Into a folder that is there and empty. */
export async function copyChildren(
  source: ReadLocation,
  target: WriteLocation,
  signal: AbortSignal,
  depth = 0,
): Promise<void> {
  if (depth > maxDepth) throw new Error(`A tree is deeper than ${maxDepth} folders`)
  for await (const entry of children(source, signal)) {
    const [from, to] = [source.child(entry.name), target.child(entry.name)]
    if (entry.kind === 'file') await copyFile(from, to, false, signal)
    else {
      await to.mkdir(signal, { exclusive: false })
      await copyChildren(from, to, signal, depth + 1)
    }
  }
}

/**
 * The second half of a move: removes from `source` what `copy` holds, and nothing that came or changed since `since`.
 * True where all is gone.
 */
export async function deleteCopied(
  source: WriteLocation,
  copy: ReadLocation,
  since: Date,
  signal: AbortSignal,
): Promise<boolean> {
  let complete = true
  for await (const entry of children(source, signal)) {
    const [from, to] = [source.child(entry.name), copy.child(entry.name)]
    if (entry.kind === 'directory') complete = (await deleteCopied(from, to, since, signal)) && complete
    else if (await isCopied(entry, to, since, signal)) await from.delete(signal)
    else complete = false
  }
  if (complete) await source.delete(signal)
  return complete
}

async function isCopied(entry: CheckedEntry, copy: ReadLocation, since: Date, signal: AbortSignal): Promise<boolean> {
  if (entry.modifiedAt && entry.modifiedAt > since) return false
  try {
    const copied = await copy.stat(signal)
    return copied.kind === 'file' && (entry.size === null || copied.size === entry.size)
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Walks over what lies below a folder, page by page. */
import { AppError } from '../../errors.ts'
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
  requireDepth(depth)
  for await (const entry of children(folder, signal)) {
    const child = folder.child(entry.name)
    if (entry.kind === 'directory') await deleteTree(child, signal, depth + 1)
    else await child.delete(signal)
  }
  await folder.delete(signal)
}

/** A file that was copied: what the source was when it was read, and what stands at the target now. */
export interface CopiedFile {
  seen: CheckedEntry
  copy: CheckedEntry
}

/** What a copy of a folder has made, so that exactly that can be undone, or its source be deleted. */
export interface CopiedFolder {
  /** False for a folder that was there, and stays. */
  isNew: boolean
  files: CopiedFile[]
  folders: Map<string, CopiedFolder>
}

/** Copies one file, inside the back end where it can; else its bytes go through this server. */
export async function copyFile(
  source: ReadLocation,
  seen: CheckedEntry,
  target: WriteLocation,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<CopiedFile> {
  const copied = await target.copyFrom(source, signal, { overwrite })
  if (copied) return { seen, copy: copied }
  const { body, entry } = await source.read(signal)
  try {
    const copy = await target.write(signal, exactBody(body, entry.size), {
      overwrite,
      ...(entry.size !== null && { size: entry.size }),
      ...(entry.mimeType !== null && { mimeType: entry.mimeType }),
    })
    return { seen: entry, copy }
  } finally {
    body.destroy()
  }
}

/** Into a folder that is there; `made` grows as the copy does, also where it fails. Never overwrites. */
export async function copyChildren(
  source: ReadLocation,
  target: WriteLocation,
  made: CopiedFolder,
  signal: AbortSignal,
  depth = 0,
): Promise<void> {
  requireDepth(depth)
  for await (const entry of children(source, signal)) {
    const [from, to] = [source.child(entry.name), target.child(entry.name)]
    if (entry.kind === 'file') made.files.push(await copyFile(from, entry, to, false, signal))
    else {
      await to.mkdir(signal, { exclusive: true })
      const folder: CopiedFolder = { isNew: true, files: [], folders: new Map() }
      made.folders.set(entry.name, folder)
      await copyChildren(from, to, folder, signal, depth + 1)
    }
  }
}

/** Removes what a copy has made; what others put or changed there meanwhile stays. */
export async function undoCopy(target: WriteLocation, made: CopiedFolder, signal: AbortSignal): Promise<void> {
  for (const { copy } of made.files) await deleteUnchanged(target.child(copy.name), copy, signal)
  for (const [name, folder] of made.folders) await undoCopy(target.child(name), folder, signal)
  if (made.isNew) await deleteIfEmpty(target, signal)
}

/**
 * The second half of a move: removes from the source what was copied, and nothing that came or changed since. True where
 * all is gone.
 */
export async function deleteCopied(source: WriteLocation, made: CopiedFolder, signal: AbortSignal): Promise<boolean> {
  let complete = true
  for (const { seen } of made.files) {
    complete = (await deleteUnchanged(source.child(seen.name), seen, signal)) && complete
  }
  for (const [name, folder] of made.folders) {
    complete = (await deleteCopied(source.child(name), folder, signal)) && complete
  }
  return (await deleteIfEmpty(source, signal)) && complete
}

/** False where the file is not what it was. */
export async function deleteUnchanged(file: WriteLocation, seen: CheckedEntry, signal: AbortSignal): Promise<boolean> {
  try {
    if (!isSameContent(await file.stat(signal), seen)) return false
  } catch (error) {
    if (isMissing(error)) return true
    throw error
  }
  await file.delete(signal)
  return true
}

function isSameContent(now: CheckedEntry, seen: CheckedEntry): boolean {
  if (now.kind !== 'file') return false
  if (now.etag !== null && seen.etag !== null) return now.etag === seen.etag
  return now.size === seen.size && now.modifiedAt?.getTime() === seen.modifiedAt?.getTime()
}

async function deleteIfEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  try {
    await folder.delete(signal)
    return true
  } catch (error) {
    if (error instanceof AppError && error.reason === 'NOT_EMPTY') return false
    throw error
  }
}

/** @throws INVALID_INPUT */
export function requireDepth(depth: number): void {
  if (depth > maxDepth) throw new AppError('INVALID_INPUT', `The folder is deeper than ${maxDepth} folders.`)
}

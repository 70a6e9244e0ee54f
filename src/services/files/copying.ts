/** Copies files and folders. */
import { formatPath, nameOf } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { exactBody } from '../../storage/exact-body.ts'
import type { ReadLocation, WriteLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { type Taken, taken, unlessTaken } from './conflict.ts'
import { type CopiedFile, type CopiedFolder, undoCopy } from './copied.ts'
import { children, requireDepth } from './tree.ts'

/** Milliseconds that undoing may take once the request itself was given up. */
const undoTimeout = 60_000

export interface CopyOptions {
  signal: AbortSignal
  /** Ids of the folders that the target lies in: a copy that met one of them in its source would never end. */
  enclosing: ReadonlySet<string>
  /** Runs before a file is read. A move refuses here what it could not delete afterwards. */
  beforeFile?(file: CheckedEntry, from: ReadLocation): Promise<void>
}

export interface Destination {
  target: WriteLocation
  /** What stands there. */
  existing: CheckedEntry | null
  overwrite: boolean
}

export interface Copied {
  entry: CheckedEntry
  made: CopiedFile | CopiedFolder
}

/** Nothing is left of a copy that fails, and nothing of what others did meanwhile is lost. */
export async function copyEntry(
  source: ReadLocation,
  entry: CheckedEntry,
  { target, existing, overwrite }: Destination,
  options: CopyOptions,
): Promise<Copied | Taken> {
  const { signal } = options
  if (existing && !overwrite) return taken
  if (entry.kind === 'file') {
    const made = await copyFile(source, entry, target, overwrite, signal)
    return made === taken ? taken : { entry: made.copy, made }
  }
  const made: CopiedFolder = { isNew: !existing, files: [], folders: new Map() }
  if (existing) await requireEmptyFolder(target, existing, signal)
  else if ((await unlessTaken(() => target.mkdir(signal, { exclusive: true }))) === taken) return taken
  try {
    await copyChildren(source, target, made, options)
    return { entry: await target.stat(signal), made }
  } catch (error) {
    // What made the copy fail says more than what may make its undoing fail.
    await undoCopy(target, made, AbortSignal.timeout(undoTimeout)).catch(() => {})
    throw error
  }
}

/** REPLACE never throws away a folder's content: only an empty folder takes another one in. @throws NOT_EMPTY, NOT_A_FOLDER */
async function requireEmptyFolder(target: WriteLocation, existing: CheckedEntry, signal: AbortSignal): Promise<void> {
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  for await (const _entry of children(target, signal)) throw new AppError('NOT_EMPTY')
}

/** Copies one file, inside the back end where it can; else its bytes go through this server. */
async function copyFile(
  source: ReadLocation,
  seen: CheckedEntry,
  target: WriteLocation,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<CopiedFile | Taken> {
  const copied = await unlessTaken(() => target.copyFrom(source, signal, { overwrite }))
  if (copied === taken) return taken
  if (copied) return { seen, copy: copied }
  const { body, entry } = await source.read(signal)
  try {
    const copy = await unlessTaken(() =>
      target.write(signal, exactBody(body, entry.size), {
        overwrite,
        ...(entry.size !== null && { size: entry.size }),
        ...(entry.mimeType !== null && { mimeType: entry.mimeType }),
      }),
    )
    return copy === taken ? taken : { seen, copy }
  } finally {
    body.destroy()
  }
}

/** Into a folder that is there; `made` grows as the copy does, also where it fails. Never overwrites. */
async function copyChildren(
  source: ReadLocation,
  target: WriteLocation,
  made: CopiedFolder,
  options: CopyOptions,
  depth = 0,
): Promise<void> {
  const { signal, enclosing, beforeFile } = options
  requireDepth(depth)
  for await (const entry of children(source, signal)) {
    const [from, to] = [source.child(entry.name), target.child(entry.name)]
    if (entry.kind === 'file') {
      await beforeFile?.(entry, from)
      const copied = await copyFile(from, entry, to, false, signal)
      if (copied === taken) throw childTaken(to)
      made.files.push(copied)
    } else {
      requireOutside(entry, from, enclosing)
      if ((await unlessTaken(() => to.mkdir(signal, { exclusive: true }))) === taken) throw childTaken(to)
      const folder: CopiedFolder = { isNew: true, files: [], folders: new Map() }
      made.folders.set(entry.name, folder)
      await copyChildren(from, to, folder, options, depth + 1)
    }
  }
}

/** @throws INTO_ITSELF where the target of a copy lies in this folder of its source */
export function requireOutside(folder: CheckedEntry, from: ReadLocation, enclosing: ReadonlySet<string>): void {
  if (folder.fileId === null || !enclosing.has(folder.fileId)) return
  throw new AppError(
    'INTO_ITSELF',
    `The target lies in the folder "${nameOf(from.path)}", which cannot go into itself.`,
  )
}

function childTaken(target: WriteLocation): AppError {
  return new AppError(
    'ALREADY_EXISTS',
    `"${formatPath(target.path)}" exists already. Somebody else made it, or the target takes two names of the source for ` +
      'one (upper and lower case). Nothing was copied.',
  )
}

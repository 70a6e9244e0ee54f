/** Rename, move and copy. Both ends are granted before either is looked at. */
import { authorize, type GrantsOf, needs } from '../../auth/needs.ts'
import { formatPath, isWithin, nameOf, root, type StoragePath } from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/entries.ts'
import type { Storage } from '../../storage/host.ts'
import type { ReadLocation, WriteLocation } from '../../storage/location.ts'
import { type ConflictBehavior, nameTaken, resolveConflict, statOrNull } from './conflict.ts'
import { entryAt, type FileEntry, type Place } from './entry.ts'
import { type CopiedFolder, children, copyChildren, copyFile, deleteCopied, deleteUnchanged, undoCopy } from './tree.ts'

export interface Rename extends Place {
  name: string
  conflict: ConflictBehavior
}

export interface Transfer extends Place {
  /** The same provider where it is left out. */
  toProviderId?: string | null | undefined
  /** Of the entry itself, its name included. */
  toPath: string
  conflict: ConflictBehavior
}

/** Milliseconds that undoing may take once the request itself was given up. */
const undoTimeout = 60_000

export async function rename(storage: Storage, viewer: Viewer | null, input: Rename, signal: AbortSignal) {
  const granted = authorize(viewer, needs.rename, input)
  requireNotRoot(granted[0].path, 'renamed')
  return moveEntry(storage, viewer, granted, input.conflict, signal)
}

export async function move(storage: Storage, viewer: Viewer | null, input: Transfer, signal: AbortSignal) {
  const granted = authorize(viewer, needs.move, input)
  requireNoRoot(granted, 'moved')
  return moveEntry(storage, viewer, granted, input.conflict, signal)
}

export async function copy(
  storage: Storage,
  viewer: Viewer | null,
  input: Transfer,
  requestSignal: AbortSignal,
): Promise<FileEntry> {
  const granted = authorize(viewer, needs.copy, input)
  requireNoRoot(granted, 'copied')
  const [from, to] = granted
  const [source, at] = [await storage.readAt(from), await targets(storage, viewer, to)]
  return storage.running.during(granted, requestSignal, async signal => {
    const entry = await source.stat(signal)
    requireNotInto(entry, from, to)
    return resolveConflict(to.path, entry.kind, input.conflict, async (path, overwrite) => {
      const target = await at(path)
      if (isSame(source, target)) throw nameTaken(path)
      return entryAt(target, (await copyEntry(source, entry, target, overwrite, signal)).entry)
    })
  })
}

async function moveEntry(
  storage: Storage,
  viewer: Viewer | null,
  granted: GrantsOf<typeof needs.move>,
  conflict: ConflictBehavior,
  requestSignal: AbortSignal,
): Promise<FileEntry> {
  const [from, to] = granted
  const [source, at] = [await storage.writeAt(from), await targets(storage, viewer, to)]
  return storage.running.during(granted, requestSignal, async signal => {
    const entry = await source.stat(signal)
    requireNotInto(entry, from, to)
    if (from.providerId === to.providerId && from.path === to.path) return entryAt(source, entry)
    return resolveConflict(to.path, entry.kind, conflict, async (path, overwrite) => {
      const target = await at(path)
      const moved = await source.moveTo(target, signal, { overwrite })
      return entryAt(target, moved ?? (await copyAndDelete(source, entry, target, overwrite, signal)))
    })
  })
}

/** Where the granted path goes; other candidates of RENAME are granted as they come. */
async function targets(storage: Storage, viewer: Viewer | null, granted: Grant<'write'>) {
  const first = await storage.writeAt(granted)
  return async (path: StoragePath): Promise<WriteLocation> =>
    path === granted.path
      ? first
      : storage.writeAt(grant(viewer, { scope: 'write', providerId: granted.providerId, path }))
}

interface Copied {
  entry: CheckedEntry
  /** Removes from the source what was copied. True where all of it is gone. */
  deleteSource(source: WriteLocation): Promise<boolean>
}

/** Nothing is left of a copy that fails, and nothing of what others did meanwhile is lost. */
async function copyEntry(
  source: ReadLocation,
  entry: CheckedEntry,
  target: WriteLocation,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<Copied> {
  if (entry.kind === 'file') {
    const { seen, copy } = await copyFile(source, entry, target, overwrite, signal)
    return { entry: copy, deleteSource: from => deleteUnchanged(from, seen, signal) }
  }
  const made: CopiedFolder = { isNew: true, files: [], folders: new Map() }
  if (overwrite && (await isEmptyFolder(target, signal))) made.isNew = false
  else await target.mkdir(signal, { exclusive: true })
  try {
    await copyChildren(source, target, made, signal)
    return { entry: await target.stat(signal), deleteSource: from => deleteCopied(from, made, signal) }
  } catch (error) {
    // What made the copy fail says more than what may make its undoing fail.
    await undoCopy(target, made, AbortSignal.timeout(undoTimeout)).catch(() => {})
    throw error
  }
}

/** REPLACE never throws away a folder's content: only an empty folder takes another one in. @throws NOT_EMPTY, NOT_A_FOLDER */
async function isEmptyFolder(target: WriteLocation, signal: AbortSignal): Promise<boolean> {
  const existing = await statOrNull(target, signal)
  if (!existing) return false
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  for await (const _entry of children(target, signal)) throw new AppError('NOT_EMPTY')
  return true
}

async function copyAndDelete(
  source: WriteLocation,
  entry: CheckedEntry,
  target: WriteLocation,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<CheckedEntry> {
  const copied = await copyEntry(source, entry, target, overwrite, signal)
  if (!(await copied.deleteSource(source))) {
    throw new AppError(
      'PRECONDITION_FAILED',
      `"${formatPath(source.path)}" is copied, but what changed meanwhile or cannot be copied was left where it is.`,
    )
  }
  return copied.entry
}

function requireNoRoot([from, to]: readonly [Grant, Grant], what: string): void {
  requireNotRoot(from.path, what)
  requireNotRoot(to.path, 'replaced')
}

export function requireNotRoot(path: StoragePath, what: string): void {
  if (path === root) throw new AppError('ROOT_IS_FIXED', `The root of a provider cannot be ${what}.`)
}

function requireNotInto(entry: CheckedEntry, from: Grant, to: Grant): void {
  const below = from.providerId === to.providerId && from.path !== to.path && isWithin(to.path, from.path)
  if (!below) return
  const name = nameOf(from.path)
  throw entry.kind === 'file'
    ? new AppError('NOT_A_FOLDER', `"${name}" is a file: nothing goes into it.`)
    : new AppError('INTO_ITSELF', `The folder "${name}" cannot go into itself.`)
}

function isSame(a: ReadLocation, b: ReadLocation): boolean {
  return a.providerId === b.providerId && a.path === b.path
}

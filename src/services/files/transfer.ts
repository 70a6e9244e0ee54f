/** Renames, moves and copies. Both locations are authorized before either is looked up. */
import { authorize, type GrantsOf, needs } from '../../auth/needs.ts'
import { formatPath, isWithin, nameOf, root, type StoragePath } from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { EntryData } from '../webdav/entry-data.ts'
import { type ConflictBehavior, resolveConflict, statOrNull, type Taken, taken, unlessTaken } from './conflict.ts'
import { copyFile, requireOutside } from './copying.ts'
import { entryAt, type FileEntry, type LocationInput } from './entry.ts'
import { type RunOnFolder, transferFolder } from './folder-work.ts'
import { copyAndDelete, isSameObject } from './moving.ts'
import { type Remover, removeEntry } from './remove.ts'

export interface RenameInput extends LocationInput {
  name: string
  conflict: ConflictBehavior
}

export interface TransferInput extends LocationInput {
  /** Defaults to the same provider. */
  toProviderId?: string | null | undefined
  /** The new path of the entry, including its name. */
  toPath: string
  conflict: ConflictBehavior
  /** Copies a folder without its content. */
  isShallow?: boolean | undefined
  /** With REPLACE, deletes everything in an existing folder first, and replaces a file by a folder. */
  replacesTree?: boolean | undefined
}

export interface CopyInput extends TransferInput {
  /** The kind of entry to copy. Default: both. */
  only?: FileEntry['kind'] | undefined
}

/** The services that a transfer uses. */
export interface TransferContext extends Remover {
  storage: Storage
  entryData: EntryData
}

export async function rename(
  context: TransferContext,
  viewer: Viewer | null,
  input: RenameInput,
  signal: AbortSignal,
): Promise<FileEntry> {
  const granted = authorize(viewer, needs.rename, input)
  requireNotRoot(granted[0].path, 'renamed')
  return moveEntry(context, viewer, granted, input, signal)
}

export async function move(
  context: TransferContext,
  viewer: Viewer | null,
  input: TransferInput,
  signal: AbortSignal,
): Promise<FileEntry> {
  const granted = authorize(viewer, needs.move, input)
  requireNoRoot(granted, 'moved')
  return moveEntry(context, viewer, granted, input, signal)
}

export async function copy(
  { storage, trash, run, entryData }: TransferContext,
  viewer: Viewer | null,
  input: CopyInput,
  requestSignal: AbortSignal,
): Promise<FileEntry> {
  const granted = authorize(viewer, needs.copy, input)
  requireNoRoot(granted, 'copied')
  const [from, to] = granted
  const [source, at] = [await storage.readAt(from), await openDestinations(storage, viewer, to)]
  return storage.activeGrants.run(granted, requestSignal, async signal => {
    const entry = await source.stat(signal)
    requireKind(entry, input.only)
    await refuseInto(source, entry, await at(to.path), signal)
    if (input.replacesTree) {
      await clearForTree({ source, entry, destination: await at(to.path) }, { trash, run }, signal)
    }
    return resolveConflict(to.path, entry.kind, input.conflict, async (path, overwrite) => {
      const destination = await at(path)
      const existing = await statOrNull(destination, signal)
      if (isSame(source, destination) || (existing && isSameObject(entry, existing))) return taken
      if (existing && !overwrite) return taken
      if (entry.kind === 'file') {
        const copied = await copyFile(source, entry, destination, { overwrite, signal })
        if (copied === taken) return taken
        await entryData.copied(source, destination)
        return entryAt(destination, copied.copy)
      }
      if (input.isShallow) return makeFolder(destination, existing, signal)
      const copied = await transferFolder('COPY', source, { folder: destination, existing }, { run, signal })
      return copied === taken ? taken : entryAt(destination, copied)
    })
  })
}

async function moveEntry(
  { storage, trash, run, entryData }: TransferContext,
  viewer: Viewer | null,
  granted: GrantsOf<typeof needs.move>,
  { conflict, replacesTree = false }: Pick<TransferInput, 'conflict' | 'replacesTree'>,
  requestSignal: AbortSignal,
): Promise<FileEntry> {
  const [from, to] = granted
  const [source, at] = [await storage.writeAt(from), await openDestinations(storage, viewer, to)]
  return storage.activeGrants.run(granted, requestSignal, async signal => {
    const entry = await source.stat(signal)
    const first = await at(to.path)
    if (isSame(source, first)) return entryAt(source, entry)
    await refuseInto(source, entry, first, signal)
    if (replacesTree) await clearForTree({ source, entry, destination: first }, { trash, run }, signal)
    return resolveConflict(to.path, entry.kind, conflict, async (path, overwrite) => {
      const destination = await at(path)
      const moved = await unlessTaken(() => source.moveTo(destination, signal, { overwrite, seen: entry }))
      if (moved === taken) return taken
      const there = moved ?? (await moveInSteps(source, entry, { destination, overwrite }, { run, signal }))
      if (there === taken) return taken
      // The end of a job has moved the data of a folder.
      if (moved || entry.kind === 'file') await entryData.moved(source, destination)
      return entryAt(destination, there)
    })
  })
}

async function makeFolder(
  folder: WriteLocation,
  existing: CheckedEntry | null,
  signal: AbortSignal,
): Promise<FileEntry | Taken> {
  if (existing) return taken
  if ((await unlessTaken(() => folder.mkdir(signal, { exclusive: true }))) === taken) return taken
  return entryAt(folder, await folder.stat(signal))
}

/** Moves an entry that no back end can move in one step. */
async function moveInSteps(
  source: WriteLocation,
  entry: CheckedEntry,
  { destination, overwrite }: { destination: WriteLocation; overwrite: boolean },
  { run, signal }: { run: RunOnFolder; signal: AbortSignal },
): Promise<CheckedEntry | Taken> {
  const existing = await statOrNull(destination, signal)
  if (existing && isSameObject(entry, existing)) {
    // The destination is the same entry in another spelling of its path, so there is nothing to do.
    if (source.providerId === destination.providerId) return existing
    throw sameEntry(source, entry)
  }
  if (existing && !overwrite) return taken
  return entry.kind === 'file'
    ? copyAndDelete(source, entry, destination, { existing, overwrite, signal })
    : transferFolder('MOVE', source, { folder: destination, existing }, { run, signal })
}

/** Opens the granted path and, for RENAME, authorizes and opens further candidates one by one. */
export async function openDestinations(storage: Storage, viewer: Viewer | null, granted: Grant<'write'>) {
  const first = await storage.writeAt(granted)
  return async (path: StoragePath): Promise<WriteLocation> =>
    path === granted.path
      ? first
      : storage.writeAt(grant(viewer, { scope: 'write', providerId: granted.providerId, path }))
}

function requireNoRoot([from, to]: readonly [Grant, Grant], what: string): void {
  requireNotRoot(from.path, what)
  requireNotRoot(to.path, 'replaced')
}

export function requireNotRoot(path: StoragePath, what: string): void {
  if (path === root) throw new AppError('ROOT_IS_FIXED', `The root of a provider cannot be ${what}.`)
}

/** @throws NOT_A_FILE, NOT_A_FOLDER */
export function requireKind(entry: CheckedEntry, only: CheckedEntry['kind'] | undefined): void {
  if (only !== undefined && entry.kind !== only) throw new AppError(only === 'file' ? 'NOT_A_FILE' : 'NOT_A_FOLDER')
}

/** Rejects a transfer of an entry into itself. @throws INTO_ITSELF, NOT_A_FOLDER */
async function refuseInto(
  source: ReadLocation,
  entry: CheckedEntry,
  destination: WriteLocation,
  signal: AbortSignal,
): Promise<void> {
  if (
    source.providerId === destination.providerId &&
    source.path !== destination.path &&
    isWithin(destination.path, source.path)
  ) {
    const name = nameOf(source.path)
    throw entry.kind === 'file'
      ? new AppError('NOT_A_FOLDER', `"${name}" is a file and cannot contain entries.`)
      : new AppError('INTO_ITSELF', `The folder "${name}" cannot go into itself.`)
  }
  if (entry.kind === 'file' || entry.fileId === null) return
  requireOutside(entry, source, await destination.enclosingIds(signal, source))
}

/**
 * Ids of two providers can be equal although their stores are not: two accounts at one address. A success would then claim a move
 * that did not happen.
 */
function sameEntry({ path }: ReadLocation, { kind }: CheckedEntry): AppError {
  const what = kind === 'file' ? 'file' : 'folder'
  const message = `"${formatPath(path)}" and its destination look like one ${what} in two providers, so it was not moved.`
  return new AppError('ALREADY_EXISTS', message)
}

function isSame(a: ReadLocation, b: ReadLocation): boolean {
  return a.providerId === b.providerId && a.path === b.path
}

/** Makes room for a copy or a move that replaces whatever is at its destination. */

/**
 * Moves the entry at the destination to the trash, or deletes it, unless both are files, which replace each other in one step. The source must not be in
 * it, not even through another provider.
 * @throws INTO_ITSELF, the reason why the job failed
 */
async function clearForTree(
  { source, entry, destination }: { source: ReadLocation; entry: CheckedEntry; destination: WriteLocation },
  remover: Remover,
  signal: AbortSignal,
): Promise<void> {
  const existing = await statOrNull(destination, signal)
  if (!existing || (existing.kind === 'file' && entry.kind === 'file') || isSameObject(existing, entry)) return
  if (source.providerId === destination.providerId && isWithin(source.path, destination.path)) {
    throw new AppError(
      'INTO_ITSELF',
      `"${formatPath(destination.path)}" contains the source, so it cannot be replaced.`,
    )
  }
  if (existing.kind === 'directory') requireOutside(existing, destination, await source.enclosingIds(signal, null))
  await removeEntry(remover, destination, existing, { permanent: false, signal })
}

/**
 * Renames, moves and copies. Both locations are authorized before either is looked up. A job works on the content of folders: the services
 * of jobs implement `FolderJobs`, because they use the services of files.
 */
import { type Asked, authorize, type GrantsOf, needs } from '../../auth/needs.ts'
import { formatPath, isWithin, nameOf, root, type StoragePath } from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { TrashItem } from '../../db/trash.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { AuditFacts } from '../audit/index.ts'
import type { FolderChanges } from '../catalogue/index.ts'
import type { EntryMetadata } from '../entry-metadata/properties.ts'
import { type ConflictBehavior, resolveConflict, statOrNull, type Taken, taken, unlessTaken } from './conflict.ts'
import { copyAndDelete, copyFile, deleteFile, isSameObject, requireOutside } from './copying.ts'
import { entryAt, type FileEntry, siblingOf } from './entry.ts'
import type { TrashBin } from './trash-bin.ts'
import { children } from './tree.ts'

export type RenameInput = Asked<typeof needs.rename> & Pick<TransferOptions, 'conflict'>

export type TransferInput = Asked<typeof needs.move> & TransferOptions

export interface TransferOptions {
  conflict: ConflictBehavior
  /** Copies a folder without its content. */
  isShallow?: boolean | undefined
  /** With REPLACE, deletes everything in an existing folder first, and replaces a file by a folder. */
  replacesTree?: boolean | undefined
}

export type CopyInput = Asked<typeof needs.copy> &
  TransferOptions & {
    /** The kind of entry to copy. Default: both. */
    only?: FileEntry['kind'] | undefined
    /** Whether it may replace a locked object. See `WriteLocation.overLocked`. */
    overLocked?: boolean | undefined
  }

/** Returns both locations of an input, for the audit log. */
export function locationsOf(input: RenameInput | TransferInput | CopyInput): Pick<AuditFacts, 'location' | 'to'> {
  if ('authorized' in input) {
    const [location, to] = input.authorized.locations
    return { location, ...(to && { to }) }
  }
  const { providerId, path } = input
  const to =
    'name' in input
      ? { providerId, path: siblingOf(path, input.name) }
      : { providerId: input.toProviderId || providerId, path: input.toPath }
  return { location: { providerId, path }, to }
}

/** The services that a transfer uses. */
export interface TransferContext extends DeleteContext {
  storage: Storage
  entryMetadata: EntryMetadata
  folders: FolderChanges
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
  { storage, trash, run, entryMetadata }: TransferContext,
  viewer: Viewer | null,
  input: CopyInput,
  requestSignal: AbortSignal,
): Promise<FileEntry> {
  const granted = authorize(viewer, needs.copy, input)
  requireNoRoot(granted, 'copied')
  const [from, to] = granted
  const [source, at] = [await storage.readAt(from), await openDestinations(storage, viewer, to, input)]
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
        await entryMetadata.copied(source, destination)
        return entryAt(destination, copied.copy)
      }
      if (input.isShallow) return makeFolder(destination, existing, signal)
      const copied = await transferFolder('COPY', source, { folder: destination, existing }, { run, signal })
      return copied === taken ? taken : entryAt(destination, copied)
    })
  })
}

async function moveEntry(
  { storage, trash, run, entryMetadata, folders }: TransferContext,
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
      if (moved || entry.kind === 'file') await entryMetadata.moved(source, destination)
      if (entry.kind === 'directory') await folders.moved(source, destination)
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
export async function openDestinations(
  storage: Storage,
  viewer: Viewer | null,
  granted: Grant<'write'>,
  { overLocked = false }: Pick<CopyInput, 'overLocked'> = {},
) {
  const opened = await storage.writeAt(granted)
  const first = overLocked ? opened.overLocked : opened
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

/**
 * Makes room for a copy or a move that replaces whatever is at its destination: moves that entry to the trash, or deletes it. Files
 * replace each other in one step, so this does nothing if both are files. The source must not be in the entry, not even through
 * another provider.
 * @throws INTO_ITSELF, the reason why the job failed
 */
async function clearForTree(
  { source, entry, destination }: { source: ReadLocation; entry: CheckedEntry; destination: WriteLocation },
  remover: DeleteContext,
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

/** The work of a job on the content of a folder. */
export interface FolderWork {
  kind: 'COPY' | 'MOVE' | 'DELETE'
  /** Whether a DELETE moves nothing to the trash. */
  permanent?: boolean
  source: ReadLocation
  /** The empty folder that the content goes into, and whether it was created for that; null for DELETE. */
  target: { folder: WriteLocation; isNew: boolean } | null
}

export interface FolderJobs {
  /** Starts a job, and returns its id. If it cannot, deletes a target folder that is new. @throws TOO_MANY_JOBS */
  start(viewer: Viewer | null, work: FolderWork): Promise<string>
  /** Waits for the end of a job. If the signal aborts, the job continues. @throws the reason why the job failed */
  finish(id: string, signal: AbortSignal): Promise<void>
}

/** Runs a job for the work and waits until the job ends. Returns the id of the job. */
export type RunOnFolder = (work: FolderWork, signal: AbortSignal) => Promise<string>

/**
 * Copies or moves a folder. REPLACE never deletes the content of a folder, so the existing folder has to be empty.
 * @throws NOT_EMPTY, NOT_A_FOLDER, the reason why the job failed
 */
async function transferFolder(
  kind: 'COPY' | 'MOVE',
  source: ReadLocation,
  { folder, existing }: { folder: WriteLocation; existing: CheckedEntry | null },
  { run, signal }: { run: RunOnFolder; signal: AbortSignal },
): Promise<CheckedEntry | Taken> {
  if (existing) await requireEmptyFolder(folder, existing, signal)
  else if ((await unlessTaken(() => folder.mkdir(signal, { exclusive: true }))) === taken) return taken
  await run({ kind, source, target: { folder, isNew: !existing } }, signal)
  return folder.stat(signal)
}

/** Requires that an entry of a kind may replace the one at a location. @throws NOT_A_FILE, NOT_A_FOLDER, NOT_EMPTY */
export async function requireReplaceable(
  kind: CheckedEntry['kind'],
  location: WriteLocation,
  existing: CheckedEntry,
  signal: AbortSignal,
): Promise<void> {
  if (kind === 'directory') return requireEmptyFolder(location, existing, signal)
  if (existing.kind === 'directory') throw new AppError('NOT_A_FILE', 'A file does not replace a folder.')
}

async function requireEmptyFolder(folder: WriteLocation, existing: CheckedEntry, signal: AbortSignal): Promise<void> {
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  for await (const _entry of children(folder, signal)) throw new AppError('NOT_EMPTY')
}

export interface DeleteOptions {
  recursive: boolean
  only?: FileEntry['kind'] | undefined
  permanent?: boolean | undefined
  keepsVersions?: boolean | undefined
  overLocked?: boolean | undefined
  condition?: ((entry: Pick<FileEntry, 'etag' | 'size' | 'modifiedAt'>) => boolean) | undefined
}

export interface Deleted {
  path: string
  /** Null for an entry that was not moved to the trash. */
  item: TrashItem | null
}

interface DeleteContext {
  trash: TrashBin
  run: RunOnFolder
}

/**
 * Moves an entry to the trash, or deletes it if it has to be permanent or the provider has no trash. A job works on a folder that
 * does not get to the trash in one step.
 * @returns the item in the trash; null for an entry that was deleted
 * @throws the reason why the job failed, and as the back ends
 */
export async function removeEntry(
  { trash, run }: DeleteContext,
  location: WriteLocation,
  entry: CheckedEntry,
  { permanent, signal }: { permanent: boolean; signal: AbortSignal },
): Promise<TrashItem | null> {
  // Content that S3 Object Lock keeps stays a version of its path.
  const isLocked = !permanent && entry.kind === 'file' && (await location.isLockedObject())
  const put = permanent || isLocked ? 'OFF' : await trash.put(location, entry, { jobId: null, signal })
  if (typeof put === 'object') return put
  if (entry.kind === 'file') {
    await (permanent ? location.delete(signal, entry) : deleteFile(location, entry, signal))
    return null
  }
  const jobId = await run({ kind: 'DELETE', source: location, target: null, permanent }, signal)
  return put === 'OFF' ? null : trash.itemOfJob(jobId)
}

/** @throws NOT_EMPTY */
export async function deleteEmptyFolder(
  folder: WriteLocation,
  entry: CheckedEntry,
  signal: AbortSignal,
): Promise<null> {
  await folder.delete(signal, entry).catch(explainNotEmpty)
  return null
}

function explainNotEmpty(error: unknown): never {
  if (error instanceof AppError && error.reason === 'NOT_EMPTY') {
    throw new AppError('NOT_EMPTY', 'The folder is not empty: give "recursive: true" to delete everything in it.')
  }
  throw error
}

import type { drive_v3 } from '@googleapis/drive'
import { alreadyExists, notAFile } from '../../bases/errors.ts'
import { StorageError } from '../../contract.ts'
import { notReplaceable } from './errors.ts'
import type { DriveFiles } from './files.ts'
import type { FolderHold, Folders, Locks } from './folders.ts'
import type { PathIds } from './ids.ts'
import type { DriveFile } from './names.ts'
import { byRank, isDoc, isFolder, toStored } from './names.ts'
import type { WrittenFile } from './upload.ts'

/** State that the calls of one provider share. */
export interface Tree {
  files: DriveFiles
  ids: PathIds
  folders: Folders
  locks: Locks
}

export interface DestinationState {
  /** The id of the parent folder. */
  parent: string
  /** The file or folder that has the path now. */
  existing: DriveFile | undefined
}

/** The path that a write stores a file at. Creates missing parent folders and removes them if the write fails. */
export class Destination {
  readonly #tree: Tree
  readonly #segments: readonly string[]
  readonly #signal: AbortSignal
  #hold: FolderHold | undefined

  constructor(tree: Tree, segments: readonly string[], signal: AbortSignal) {
    this.#tree = tree
    this.#segments = segments
    this.#signal = signal
  }

  /** Looks up what has the path now, and creates missing parent folders. */
  async prepare(): Promise<DestinationState> {
    const { ids, folders } = this.#tree
    const { file, parent } = await ids.locate(this.#segments, this.#signal, 'verified')
    if (parent !== undefined) {
      this.#hold ??= folders.holdExisting(parent)
      return { parent, existing: file }
    }
    const hold = await folders.hold(this.#segments.slice(0, -1), this.#signal)
    this.#hold?.release()
    this.#hold = hold
    return { parent: hold.id, existing: undefined }
  }

  /** Runs `work` while no other write to this path runs in this process, after looking the path up again. */
  async exclusively(work: (found: DestinationState) => Promise<DriveFile>): Promise<DriveFile> {
    return await this.#tree.locks.run(
      pathKey(this.#segments),
      this.#signal,
      async () => await work(await this.prepare()),
    )
  }

  /** Removes the folders that were created for the file. */
  async undo(): Promise<void> {
    await this.#hold?.undo()
  }

  release(): void {
    this.#hold?.release()
  }
}

/** Checks that a file can be written over `existing`. @throws ALREADY_EXISTS, NOT_A_FILE, PERMISSION_DENIED */
export function refuseOver(existing: DriveFile | undefined, overwrite: boolean): void {
  if (!existing) return
  if (!overwrite) throw alreadyExists()
  if (isFolder(existing)) throw notAFile()
  if (isDoc(existing)) throw notReplaceable()
}

/** Returns the file that takes the bytes: the existing one, or a new one with a reserved id. */
export async function fileToWrite(
  files: DriveFiles,
  { existing, parent, name }: { existing: DriveFile | undefined; parent: string; name: (id: string) => string },
  {
    mimeType,
    modifiedAt,
    signal,
  }: { mimeType: string | undefined; modifiedAt?: Date | undefined; signal: AbortSignal },
): Promise<WrittenFile> {
  // Drive would convert bytes with one of Google's own types to a document.
  const type = mimeType?.startsWith('application/vnd.google-apps.') ? 'application/octet-stream' : mimeType
  const metadata: drive_v3.Schema$File = {
    ...(type !== undefined && { mimeType: type }),
    ...(modifiedAt && { modifiedTime: modifiedAt.toISOString() }),
  }
  if (existing) return { id: existing.id, isNew: false, metadata }
  const id = await files.newId(signal)
  return { id, isNew: true, metadata: { ...metadata, id, name: name(id), parents: [parent] } }
}

/** The key of the lock of a path. */
export const pathKey = (segments: readonly string[]) => `path:${segments.join('/')}`

interface SettleOptions {
  segments: readonly string[]
  /** The id of the parent folder. */
  parent: string
  overwrite: boolean
  signal: AbortSignal
}

/**
 * Resolves conflicts after a file was created, as Drive has no atomic create. If the parent folder was trashed
 * meanwhile, the file moves to a new one. If another writer created a file of the same name, then `overwrite: false`
 * removes the younger file, and `overwrite: true` trashes the older one.
 * @throws ALREADY_EXISTS, NOT_A_FILE; INVALID_PATH where Drive changed the name
 */
export async function settleNew(tree: Tree, file: DriveFile, options: SettleOptions): Promise<DriveFile> {
  const { files, ids, folders } = tree
  const { segments, overwrite, signal } = options
  const name = segments.at(-1) ?? ''
  let { parent } = options
  if (!isDoc(file) && file.name !== toStored(name)) {
    throw new StorageError('INVALID_PATH', 'Google Drive cannot store exactly this name: choose another.')
  }
  let settled = file
  if (file.trashed) {
    const hold = await folders.hold(segments.slice(0, -1), signal)
    try {
      settled = await files.update(file.id, {}, signal, { from: parent, to: hold.id })
      parent = hold.id
    } finally {
      hold.release()
    }
  }
  const others = (await ids.twins(parent, name, signal)).filter(twin => twin.id !== file.id)
  const older = others.filter(twin => byRank(twin, file) < 0)
  if (older.length > 0 && !overwrite) throw alreadyExists()
  if (older.some(isFolder)) throw notAFile()
  for (const twin of older) await files.trash(twin.id, signal)
  return settled
}

import type { drive_v3 } from '@googleapis/drive'
import { StorageError } from '../contract.ts'
import type { DriveFile } from './api.ts'
import { isGoogleDoc, notAFile, taken } from './errors.ts'
import type { DriveFiles } from './files.ts'
import type { Folders, Held } from './folders.ts'
import type { PathIds } from './ids.ts'
import type { Locks } from './locks.ts'
import { byRank, isDoc, isFolder, toStored } from './names.ts'
import type { Target } from './upload.ts'

/** State that the calls of one provider share. */
export interface Tree {
  files: DriveFiles
  ids: PathIds
  folders: Folders
  locks: Locks
}

export interface Found {
  /** The folder's id. */
  parent: string
  existing: DriveFile | undefined
}

/** Where a file is to be: what is there, and the folders that it lies in. */
export class Destination {
  readonly #tree: Tree
  readonly #segments: readonly string[]
  readonly #signal: AbortSignal
  #held: Held | undefined

  constructor(tree: Tree, segments: readonly string[], signal: AbortSignal) {
    this.#tree = tree
    this.#segments = segments
    this.#signal = signal
  }

  /** What is there now; makes the folders that it lies in. */
  async look(): Promise<Found> {
    const { ids, folders } = this.#tree
    const { file, parent } = await ids.locate(this.#segments, this.#signal, 'verified')
    if (parent !== undefined) {
      this.#held ??= folders.holdKnown(parent)
      return { parent, existing: file }
    }
    const held = await folders.hold(this.#segments.slice(0, -1), this.#signal)
    this.#held?.release()
    this.#held = held
    return { parent: held.id, existing: undefined }
  }

  /** Alone in this process at this path; looked at once more, as others were served meanwhile. */
  async exclusively(work: (found: Found) => Promise<DriveFile>): Promise<DriveFile> {
    return await this.#tree.locks.run(pathKey(this.#segments), this.#signal, async () => await work(await this.look()))
  }

  /** Removes the folders that were created for it. */
  async undo(): Promise<void> {
    await this.#held?.undo()
  }

  release(): void {
    this.#held?.release()
  }
}

/** @throws ALREADY_EXISTS, NOT_A_FILE, PERMISSION_DENIED where a file cannot take the place of what is there */
export function refuseOver(existing: DriveFile | undefined, overwrite: boolean): void {
  if (!existing) return
  if (!overwrite) throw taken()
  if (isFolder(existing)) throw notAFile()
  if (isDoc(existing)) throw isGoogleDoc()
}

/** @throws QUOTA_EXCEEDED; else a full account is only found out with the last byte */
export async function refuseTooLarge(files: DriveFiles, size: number, signal: AbortSignal): Promise<void> {
  const { used, total } = await files.quota(signal)
  if (used === null || total === null || used + size <= total) return
  const message = 'The storage of the Google account has no room for this file: free some space or buy more.'
  throw new StorageError('QUOTA_EXCEEDED', message)
}

/** What is there takes the bytes, else a new file. */
export async function targetFor(
  files: DriveFiles,
  { existing, parent, name }: { existing: DriveFile | undefined; parent: string; name: (id: string) => string },
  { mimeType, signal }: { mimeType: string | undefined; signal: AbortSignal },
): Promise<Target> {
  // With one of Google's own types, Drive would convert the bytes to a document.
  const type = mimeType?.startsWith('application/vnd.google-apps.') ? 'application/octet-stream' : mimeType
  const metadata: drive_v3.Schema$File = type === undefined ? {} : { mimeType: type }
  if (existing) return { id: existing.id, isNew: false, metadata }
  const id = await files.newId(signal)
  return { id, isNew: true, metadata: { ...metadata, id, name: name(id), parents: [parent] } }
}

/** For the lock of a path. */
export const pathKey = (segments: readonly string[]) => `path:${segments.join('/')}`

interface NewPlace {
  segments: readonly string[]
  /** The folder's id. */
  parent: string
  overwrite: boolean
  signal: AbortSignal
}

/**
 * After a file was made: its folder may have gone to the trash meanwhile, and another may have made one of the same name.
 * Of those, with `overwrite: false` the younger one yields; with `overwrite: true` the older one goes to the trash.
 */
export async function settleNew(tree: Tree, file: DriveFile, place: NewPlace): Promise<DriveFile> {
  const { files, ids, folders } = tree
  const { segments, overwrite, signal } = place
  const name = segments.at(-1) ?? ''
  let { parent } = place
  if (!isDoc(file) && file.name !== toStored(name)) {
    throw new StorageError('INVALID_PATH', 'Google Drive cannot keep this name as it is: choose another.')
  }
  let settled = file
  if (file.trashed) {
    const held = await folders.hold(segments.slice(0, -1), signal)
    try {
      settled = await files.update(file.id, {}, signal, { from: parent, to: held.id })
      parent = held.id
    } finally {
      held.release()
    }
  }
  const others = (await ids.twins(parent, name, signal)).filter(twin => twin.id !== file.id)
  const older = others.filter(twin => byRank(twin, file) < 0)
  if (older.length > 0 && !overwrite) throw taken()
  if (older.some(isFolder)) throw notAFile()
  for (const twin of older) await files.trash(twin.id, signal)
  return settled
}

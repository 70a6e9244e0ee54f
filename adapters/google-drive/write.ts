import { addAbortSignal, type Readable } from 'node:stream'
import { StorageError } from '../contract.ts'
import type { DriveFile } from './api.ts'
import { isGoogleDoc, notAFile, taken } from './errors.ts'
import type { DriveFiles } from './files.ts'
import type { Folders, Held } from './folders.ts'
import type { PathIds } from './ids.ts'
import type { Locks } from './locks.ts'
import { byRank, isDoc, isFolder, toStored } from './names.ts'
import { type Chunk, chunksOf, multipartLimit, type Target, UploadSession, uploadWhole } from './upload.ts'

/** What the calls of one provider share. */
export interface Tree {
  files: DriveFiles
  ids: PathIds
  folders: Folders
  locks: Locks
}

export interface WriteOptions {
  size: number | undefined
  mimeType: string | undefined
  overwrite: boolean
  signal: AbortSignal
}

/** One write under way. Drive knows no "only if absent", so it is looked before and after. */
export class Write {
  readonly #tree: Tree
  readonly #segments: readonly string[]
  readonly #options: WriteOptions
  #held: Held | undefined
  #session: UploadSession | undefined
  /** The id of a new file, from when it may be there, whatever is answered. */
  #creating: string | undefined

  constructor(tree: Tree, segments: readonly string[], options: WriteOptions) {
    this.#tree = tree
    this.#segments = segments
    this.#options = options
  }

  async run(body: Readable): Promise<DriveFile> {
    const { signal } = this.#options
    try {
      return await this.#store(chunksOf(addAbortSignal(signal, body)))
    } catch (error) {
      body.destroy()
      await this.#session?.abort()
      if (this.#creating !== undefined) await this.#tree.files.undo(this.#creating)
      await this.#held?.undo()
      throw signal.aborted ? signal.reason : error
    } finally {
      this.#held?.release()
    }
  }

  /** Nothing is asked of Drive before the first chunk has come: a small file needs no session, and no folders before. */
  async #store(chunks: ReturnType<typeof chunksOf>): Promise<DriveFile> {
    const { files } = this.#tree
    const { signal, size } = this.#options
    let begun: { target: Target; session: UploadSession } | undefined
    for await (const chunk of chunks) {
      if (!begun && chunk.isLast && chunk.bytes.length <= multipartLimit) {
        return await this.#exclusively(async (parent, existing) => {
          const target = await this.#targetFor(existing, parent)
          if (target.isNew) this.#creating = target.id
          return await this.#settle(target, parent, await uploadWhole(files, target, chunk.bytes, signal))
        })
      }
      if (!begun) {
        const { parent, existing } = await this.#look()
        const target = await this.#targetFor(existing, parent)
        if (size !== undefined) await this.#refuseTooLarge(size)
        begun = { target, session: await UploadSession.begin(files, target, signal) }
        this.#session = begun.session
      }
      const { target, session } = begun
      if (!chunk.isLast) await session.send(chunk, signal)
      else return await this.#exclusively((parent, existing) => this.#finish(target, session, chunk, parent, existing))
    }
    throw new StorageError('UNAVAILABLE', 'The upload ended before its end.')
  }

  /** Else a full account is only found out with the last byte. */
  async #refuseTooLarge(size: number): Promise<void> {
    const { used, total } = await this.#tree.files.quota(this.#options.signal)
    if (used === null || total === null || used + size <= total) return
    const message = 'The storage of the Google account has no room for this file: free some space or buy more.'
    throw new StorageError('QUOTA_EXCEEDED', message)
  }

  async #finish(
    target: Target,
    session: UploadSession,
    chunk: Chunk,
    parent: string,
    existing: DriveFile | undefined,
  ): Promise<DriveFile> {
    const begunIn = target.metadata.parents?.[0]
    if (target.isNew) this.#creating = target.id
    else if (existing?.id !== target.id) throw displaced()
    const file = await session.send(chunk, this.#options.signal)
    if (!file) throw new StorageError('UNAVAILABLE', 'Google Drive did not finish the upload: try again.')
    this.#session = undefined
    return await this.#settle(target, begunIn ?? parent, file)
  }

  /** Alone in this process at this path; looked at once more, as others were served meanwhile. */
  async #exclusively(
    work: (parent: string, existing: DriveFile | undefined) => Promise<DriveFile>,
  ): Promise<DriveFile> {
    return await this.#tree.locks.run(pathKey(this.#segments), this.#options.signal, async () => {
      const { parent, existing } = await this.#look()
      return await work(parent, existing)
    })
  }

  /** What is at the path now; makes the folders that it lies in. */
  async #look(): Promise<{ parent: string; existing: DriveFile | undefined }> {
    const { ids, folders } = this.#tree
    const { signal } = this.#options
    const { file, parent } = await ids.locate(this.#segments, signal, 'verified')
    if (file) this.#refuse(file)
    if (parent !== undefined) {
      this.#held ??= folders.holdKnown(parent)
      return { parent, existing: file }
    }
    const held = await folders.hold(this.#segments.slice(0, -1), signal)
    this.#held?.release()
    this.#held = held
    return { parent: held.id, existing: undefined }
  }

  #refuse(existing: DriveFile): void {
    if (!this.#options.overwrite) throw taken()
    if (isFolder(existing)) throw notAFile()
    if (isDoc(existing)) throw isGoogleDoc()
  }

  async #targetFor(existing: DriveFile | undefined, parent: string): Promise<Target> {
    const { signal, mimeType } = this.#options
    // Google's own types would make a document of the bytes.
    const type = mimeType?.startsWith('application/vnd.google-apps.') ? 'application/octet-stream' : mimeType
    const metadata = type === undefined ? {} : { mimeType: type }
    if (existing) return { id: existing.id, isNew: false, metadata }
    const id = await this.#tree.files.newId(signal)
    return {
      id,
      isNew: true,
      metadata: { ...metadata, id, name: toStored(this.#segments.at(-1) ?? ''), parents: [parent] },
    }
  }

  async #settle(target: Target, parent: string, file: DriveFile): Promise<DriveFile> {
    if (!target.isNew) {
      if (file.trashed || (file.parents && !file.parents.includes(parent))) throw displaced()
      return file
    }
    const { overwrite, signal } = this.#options
    return await settleNew(this.#tree, file, { segments: this.#segments, parent, overwrite, signal })
  }
}

const displaced = () =>
  new StorageError('UNAVAILABLE', 'The file was moved or deleted while it was being replaced: try again.')

/** For the lock of a path. */
export const pathKey = (segments: readonly string[]) => `path:${segments.join('/')}`

export interface NewPlace {
  segments: readonly string[]
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

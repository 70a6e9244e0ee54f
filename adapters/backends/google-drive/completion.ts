import type { Readable } from 'node:stream'
import { type BlockOptions, type Chunk, requireWithin, unsent } from '../../bases/cloud/chunks.ts'
import { hasCode } from '../../bases/cloud/failure.ts'
import { StorageError, type StorageErrorCode, type StoragePath, segmentsOf } from '../../contract.ts'
import type { DriveFile } from './api.ts'
import { Destination, type DestinationState, refuseOver, settleNew, type Tree } from './destination.ts'
import { isTemporary, toStored } from './names.ts'
import { moveTo } from './transfer.ts'
import { chunkSize, type SessionStatus, UploadSession } from './upload.ts'

/** An upload that an earlier request began. */
export interface BegunUpload {
  path: StoragePath
  /** The URL of the session. */
  url: string
  /** The id of the file. */
  id: string
  /** True if the session creates the file, false if it replaces one. */
  isNew: boolean
  /** The id of the folder in which the session creates the file. */
  parent: string
}

/** After these errors the same call can succeed later, so the upload is kept. */
const transientCodes: readonly StorageErrorCode[] = ['UNAVAILABLE', 'RATE_LIMITED', 'UNAUTHORIZED', 'NEEDS_RECONNECT']

/**
 * The end of an upload: sends the last bytes, which make Drive create the file, then moves the file to its path. An earlier
 * attempt may have completed any of these steps.
 */
export class Completion {
  readonly #tree: Tree
  readonly #upload: BegunUpload
  readonly #segments: readonly string[]
  readonly #options: BlockOptions & { overwrite: boolean }
  readonly #session: UploadSession
  readonly #destination: Destination
  /** True once the new file may exist, even if the response was lost. */
  #isCreated = false
  /** True if somebody may have seen the file, so that it is trashed instead of deleted. */
  #isSeen = false
  #isMoving = false

  constructor(tree: Tree, upload: BegunUpload, options: BlockOptions & { overwrite: boolean }) {
    this.#tree = tree
    this.#upload = upload
    this.#segments = segmentsOf(upload.path)
    this.#options = options
    this.#session = UploadSession.of(tree.files, upload.url)
    this.#destination = new Destination(tree, this.#segments, options.signal)
  }

  async run(body: Readable): Promise<DriveFile> {
    try {
      return await this.#send(body)
    } catch (error) {
      const isFinal =
        !this.#options.signal.aborted && error instanceof StorageError && !transientCodes.includes(error.code)
      if (isFinal && this.#isCreated) await this.#removeFile()
      if (isFinal || !(await this.#isPossiblyMoved())) await this.#destination.undo()
      throw error
    } finally {
      this.#destination.release()
    }
  }

  async #send(body: Readable): Promise<DriveFile> {
    const { offset, size, signal } = this.#options
    const { file, received } = await this.#status()
    if (!file) requireWithin(received, this.#options)
    for await (const chunk of unsent(body, { ...this.#options, chunkSize }, file ? offset + size : received)) {
      if (!chunk.isLast) await this.#session.send(chunk, signal)
      else
        return await this.#destination.exclusively(found => (file ? this.#repeat(found) : this.#finish(chunk, found)))
    }
    throw new StorageError('UNAVAILABLE', 'The upload ended early: try again.')
  }

  async #status(): Promise<SessionStatus> {
    const { files } = this.#tree
    const { id, isNew } = this.#upload
    const { signal } = this.#options
    try {
      return await this.#session.status(signal)
    } catch (error) {
      // Drive may forget a session once its file exists.
      const file = isNew && hasCode(error, 'NOT_FOUND') ? await files.find(id, signal) : undefined
      if (file) return { file, received: 0 }
      throw error
    }
  }

  async #finish(chunk: Chunk, { parent, existing }: DestinationState): Promise<DriveFile> {
    const { id, isNew } = this.#upload
    const { overwrite, signal } = this.#options
    refuseOver(existing, overwrite)
    if (!isNew && existing?.id !== id) throw displaced()
    this.#isCreated = isNew
    const file = await this.#session.send(chunk, signal)
    if (!file) throw new StorageError('UNAVAILABLE', 'Google Drive did not finish the upload: try again.')
    if (isNew) return await this.#settle(file, parent)
    if (!isIn(file, parent)) throw displaced()
    return file
  }

  /**
   * Continues after an earlier attempt that sent the last chunk. It keeps the changes that others have made to the file
   * since.
   */
  async #repeat({ parent, existing }: DestinationState): Promise<DriveFile> {
    const { id, isNew } = this.#upload
    if (existing?.id === id && !isNew) return existing
    const file = isNew ? await this.#tree.files.find(id, this.#options.signal) : undefined
    if (!file || !(isTemporary(file) || this.#isAtPath(file, parent))) throw displaced()
    this.#isCreated = true
    this.#isSeen = !isTemporary(file)
    return await this.#settle(file, parent)
  }

  async #settle(file: DriveFile, parent: string): Promise<DriveFile> {
    const { overwrite, signal } = this.#options
    const moved = this.#isAtPath(file, parent) ? file : await this.#move(file, parent)
    return await settleNew(this.#tree, moved, { segments: this.#segments, parent, overwrite, signal })
  }

  async #move(file: DriveFile, parent: string): Promise<DriveFile> {
    const from = file.parents?.[0] ?? this.#upload.parent
    this.#isMoving = true
    return await moveTo(this.#tree, { file, parent: from }, parent, this.#name, this.#options.signal)
  }

  /** Returns true if the file may already be in a folder that was created for it. */
  async #isPossiblyMoved(): Promise<boolean> {
    if (!this.#isMoving) return false
    const file = await this.#tree.files.find(this.#upload.id, AbortSignal.timeout(30_000)).catch(() => undefined)
    return !file || !isTemporary(file)
  }

  get #name(): string {
    return toStored(this.#segments.at(-1) ?? '')
  }

  #isAtPath(file: DriveFile, parent: string): boolean {
    return isIn(file, parent) && file.name === this.#name
  }

  async #removeFile(): Promise<void> {
    const { files } = this.#tree
    const { id } = this.#upload
    if (!this.#isSeen) return await files.undo(id)
    // The caller needs the error that made the call fail, not this one.
    await files.trash(id, AbortSignal.timeout(30_000)).catch(() => {})
  }
}

function isIn(file: DriveFile, parent: string): boolean {
  return !file.trashed && (!file.parents || file.parents.includes(parent))
}

const displaced = () =>
  new StorageError('NOT_FOUND', 'The file was moved or deleted while it was being replaced: begin the upload again.')

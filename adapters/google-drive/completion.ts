import type { Readable } from 'node:stream'
import { StorageError, type StorageErrorCode, type StoragePath, segmentsOf } from '../contract.ts'
import type { DriveFile } from './api.ts'
import { type Chunk, requireWithin, type Stretch, unsent } from './chunks.ts'
import { Destination, type Found, refuseOver, settleNew, type Tree } from './destination.ts'
import { hasCode } from './errors.ts'
import { isAside, toStored } from './names.ts'
import { moveTo } from './transfer.ts'
import { type Standing, UploadSession } from './upload.ts'

/** An upload that an earlier request began. */
export interface Begun {
  path: StoragePath
  /** Of the session. */
  url: string
  /** Of the file, and whether the session makes it. */
  id: string
  isNew: boolean
  /** The id of the folder that the session makes it in. */
  parent: string
}

/** After these errors the same call can succeed later, so the upload is kept. */
const passing: readonly StorageErrorCode[] = ['UNAVAILABLE', 'RATE_LIMITED', 'UNAUTHORIZED', 'NEEDS_RECONNECT']

/**
 * The end of an upload: the last chunk, with which the file is there, and its way to where it belongs. It may have been
 * tried before, and have come to any point of that.
 */
export class Completion {
  readonly #tree: Tree
  readonly #begun: Begun
  readonly #segments: readonly string[]
  readonly #options: Stretch & { overwrite: boolean }
  readonly #session: UploadSession
  readonly #destination: Destination
  /** True where the new file may exist, whatever the response. */
  #isMade = false
  /** True where somebody may have seen the file, so that it must go to the trash. */
  #isSeen = false
  #isMoving = false

  constructor(tree: Tree, begun: Begun, options: Stretch & { overwrite: boolean }) {
    this.#tree = tree
    this.#begun = begun
    this.#segments = segmentsOf(begun.path)
    this.#options = options
    this.#session = UploadSession.of(tree.files, begun.url)
    this.#destination = new Destination(tree, this.#segments, options.signal)
  }

  async run(body: Readable): Promise<DriveFile> {
    try {
      return await this.#send(body)
    } catch (error) {
      const isFinal = !this.#options.signal.aborted && error instanceof StorageError && !passing.includes(error.code)
      if (isFinal && this.#isMade) await this.#takeBack()
      if (isFinal || !(await this.#mayBeMoved())) await this.#destination.undo()
      throw error
    } finally {
      this.#destination.release()
    }
  }

  async #send(body: Readable): Promise<DriveFile> {
    const { offset, size, signal } = this.#options
    const { file, stands } = await this.#ask()
    if (!file) requireWithin(stands, this.#options)
    for await (const chunk of unsent(body, this.#options, file ? offset + size : stands)) {
      if (!chunk.isLast) await this.#session.send(chunk, signal)
      else return await this.#destination.exclusively(found => (file ? this.#again(found) : this.#finish(chunk, found)))
    }
    throw new StorageError('UNAVAILABLE', 'The upload ended before its end.')
  }

  async #ask(): Promise<Standing> {
    const { files } = this.#tree
    const { id, isNew } = this.#begun
    const { signal } = this.#options
    try {
      return await this.#session.ask(signal)
    } catch (error) {
      // Drive may forget a session once its file exists.
      const file = isNew && hasCode(error, 'NOT_FOUND') ? await files.find(id, signal) : undefined
      if (file) return { file, stands: 0 }
      throw error
    }
  }

  async #finish(chunk: Chunk, { parent, existing }: Found): Promise<DriveFile> {
    const { id, isNew } = this.#begun
    const { overwrite, signal } = this.#options
    refuseOver(existing, overwrite)
    if (!isNew && existing?.id !== id) throw displaced()
    this.#isMade = isNew
    const file = await this.#session.send(chunk, signal)
    if (!file) throw new StorageError('UNAVAILABLE', 'Google Drive did not finish the upload: try again.')
    if (isNew) return await this.#settle(file, parent)
    if (!isIn(file, parent)) throw displaced()
    return file
  }

  /** An attempt before this one has sent the last chunk; what others have done with the file since is respected. */
  async #again({ parent, existing }: Found): Promise<DriveFile> {
    const { id, isNew } = this.#begun
    if (existing?.id === id && !isNew) return existing
    const file = isNew ? await this.#tree.files.find(id, this.#options.signal) : undefined
    if (!file || !(isAside(file) || this.#isInPlace(file, parent))) throw displaced()
    this.#isMade = true
    this.#isSeen = !isAside(file)
    return await this.#settle(file, parent)
  }

  async #settle(file: DriveFile, parent: string): Promise<DriveFile> {
    const { overwrite, signal } = this.#options
    const placed = this.#isInPlace(file, parent) ? file : await this.#move(file, parent)
    return await settleNew(this.#tree, placed, { segments: this.#segments, parent, overwrite, signal })
  }

  async #move(file: DriveFile, parent: string): Promise<DriveFile> {
    const from = file.parents?.[0] ?? this.#begun.parent
    this.#isMoving = true
    return await moveTo(this.#tree, { file, parent: from }, parent, this.#name, this.#options.signal)
  }

  /** Whether it may be in a folder that was made for it. */
  async #mayBeMoved(): Promise<boolean> {
    if (!this.#isMoving) return false
    const file = await this.#tree.files.find(this.#begun.id, AbortSignal.timeout(30_000)).catch(() => undefined)
    return !file || !isAside(file)
  }

  get #name(): string {
    return toStored(this.#segments.at(-1) ?? '')
  }

  #isInPlace(file: DriveFile, parent: string): boolean {
    return isIn(file, parent) && file.name === this.#name
  }

  async #takeBack(): Promise<void> {
    const { files } = this.#tree
    const { id } = this.#begun
    if (!this.#isSeen) return await files.undo(id)
    // The error that made the call fail says more.
    await files.trash(id, AbortSignal.timeout(30_000)).catch(() => {})
  }
}

function isIn(file: DriveFile, parent: string): boolean {
  return !file.trashed && (!file.parents || file.parents.includes(parent))
}

const displaced = () =>
  new StorageError('NOT_FOUND', 'The file was moved or deleted while it was being replaced: begin the upload again.')

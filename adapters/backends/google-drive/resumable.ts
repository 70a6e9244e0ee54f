import type { Readable } from 'node:stream'
import { type BlockOptions, type Chunk, endedEarly, requireWithin, unsent } from '../../bases/cloud/chunks.ts'
import { hasCode, requireOffset } from '../../bases/errors.ts'
import { formatState, parseState, tryParseState } from '../../bases/upload-state.ts'
import {
  nameOf,
  type ResumableWrites,
  StorageError,
  type StorageErrorCode,
  type StoragePath,
  segmentsOf,
} from '../../contract.ts'
import { Destination, type DestinationState, fileToWrite, refuseOver, settleNew, type Tree } from './destination.ts'
import type { DriveFile } from './names.ts'
import { isTemporary, temporaryName, toEntry, toStored } from './names.ts'
import { moveTo } from './transfer.ts'
import { chunkSize, chunkUnit, type SessionStatus, UploadSession } from './upload.ts'

interface State extends BegunUpload {
  /** Bytes received so far. */
  offset: number
}

/**
 * A session of Drive creates its file with the last byte, in the folder and under the name that the session began with. If the
 * folder does not exist yet, the session begins in the last existing folder of the path, under a temporary name that listings
 * leave out.
 */
export function resumableWrites(tree: Tree): ResumableWrites {
  const { files } = tree
  return {
    partSize: chunkSize,
    partMultiple: chunkUnit,

    async begin(path, { signal, size, mimeType, modifiedAt }) {
      const segments = segmentsOf(path)
      const { file: existing, parent: known } = await tree.ids.locate(segments, signal, 'verified')
      // Fail before the bytes are sent if they can never replace the existing entry.
      refuseOver(existing, true)
      const parent = known ?? (await tree.folders.deepest(segments.slice(0, -1), signal))
      const name = known === undefined ? temporaryName : () => toStored(nameOf(path))
      if (size !== undefined) await files.refuseTooLarge(size, signal)
      const written = await fileToWrite(files, { existing, parent, name }, { mimeType, modifiedAt, signal })
      const { url } = await UploadSession.begin(files, written, signal)
      return formatState({ path, url, id: written.id, isNew: written.isNew, parent, offset: 0 } satisfies State)
    },

    async append(text, body, options) {
      const { signal, offset, size } = options
      const state = parse(text, offset)
      const session = UploadSession.of(files, state.url)
      // The bytes of a repeated call may have arrived before, wholly or in part.
      const { file, received } = await session.status(signal)
      requireWithin(file ? Number.NaN : received, options)
      for await (const { bytes } of unsent(body, { ...options, chunkSize }, received)) {
        if (bytes.length > 0) await session.send({ bytes, isLast: false }, signal)
      }
      return formatState({ ...state, offset: offset + size } satisfies State)
    },

    async complete(text, body, options) {
      const state = parse(text, options.offset)
      return toEntry(nameOf(state.path), await new Completion(tree, state, options).run(body))
    },

    async abort(text, { signal }) {
      const state = tryParseState<State>(text, isState)
      if (!state) return
      const session = UploadSession.of(files, state.url)
      const isOpen = await session.status(signal).then(
        ({ file }) => file === undefined,
        error => {
          if (!hasCode(error, 'NOT_FOUND')) throw error
          return false
        },
      )
      if (isOpen) return await session.end(signal)
      // A finished file stays, unless `complete` failed while it had its temporary name.
      const file = state.isNew ? await files.find(state.id, signal) : undefined
      if (file && isTemporary(file)) await files.undo(file.id)
    },
  }
}

const isState = ({ url, id, parent, offset }: Record<string, unknown>) =>
  [url, id, parent].every(value => typeof value === 'string') && Number.isSafeInteger(offset)

/** @throws NOT_FOUND, PRECONDITION_FAILED */
function parse(text: string, offset: number): State {
  const state = parseState<State>(text, isState)
  requireOffset(offset, state.offset)
  return state
}

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
class Completion {
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
    throw endedEarly()
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
    return await moveTo(this.#tree, { file, parent: from }, parent, { name: this.#name }, this.#options.signal)
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

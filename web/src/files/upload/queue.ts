import { StowageError } from '../../api/client.ts'
import { childPath } from '../../api/paths.ts'
import { type Conflict, createFolder } from '../operations.ts'
import type { FileSelection } from './dropped-files.ts'
import { Speed } from './speed.ts'
import { Transfer } from './transfer.ts'
import { forgetUnfinished, lockedFingerprints, unfinishedOf } from './unfinished-uploads.ts'

type UploadState =
  | 'waiting'
  | 'uploading'
  /** Tries again after a temporary failure. */
  | 'retrying'
  | 'paused'
  | 'conflict'
  | 'failed'
  /** Started before a reload. The person has to choose the file again. */
  | 'interrupted'
  | 'done'

export interface QueuedUpload {
  readonly id: number
  readonly providerId: string
  /** The path of the file to create; once it is stored, the path that the server chose. */
  path: string
  /** Bytes. */
  readonly size: number
  sent: number
  state: UploadState
  error: unknown
  conflict: Conflict
  file: File | null
  transfer: Transfer | null
  /** The key of the upload in the local storage of the browser, if it was interrupted. */
  readonly unfinishedKey: string | null
}

export interface Totals {
  count: number
  done: number
  sent: number
  size: number
  /** Bytes per second. */
  speed: number
  states: Record<UploadState, number>
}

type StoredListener = (providerId: string, path: string, upload: QueuedUpload) => void

const concurrency = 3
const activeStates: ReadonlySet<UploadState> = new Set(['waiting', 'uploading', 'retrying', 'paused', 'conflict'])
/** Milliseconds between two updates of the page. */
const updateInterval = 200
/** Bytes. If the first progress of an upload is larger, it does not count for the speed. */
const maxFirstProgress = 4 * 1024 * 1024

export class UploadQueue {
  uploads: QueuedUpload[] = []
  readonly #userId: string
  readonly #onStored: StoredListener
  readonly #listeners = new Set<() => void>()
  readonly #speed = new Speed()
  #version = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #nextId = 1
  #isClosed = false
  /** The resolution for later conflicts. */
  #conflict: Conflict = 'FAIL'

  constructor(userId: string, onStored: StoredListener) {
    this.#userId = userId
    this.#onStored = onStored
    void this.#restore()
    addEventListener('beforeunload', this.#warn)
  }

  /** Stops all uploads. The server keeps the bytes that it has stored. */
  close(): void {
    removeEventListener('beforeunload', this.#warn)
    for (const { transfer } of this.uploads) {
      transfer?.pause()
      transfer?.release()
    }
    this.uploads = []
    this.#isClosed = true
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  version = (): number => this.#version

  totals(): Totals {
    const states: Totals['states'] = {
      waiting: 0,
      uploading: 0,
      retrying: 0,
      paused: 0,
      conflict: 0,
      failed: 0,
      interrupted: 0,
      done: 0,
    }
    let sent = 0
    let size = 0
    for (const upload of this.uploads) {
      states[upload.state] += 1
      if (upload.state === 'interrupted') continue
      sent += upload.sent
      size += upload.size
    }
    const speed = states.uploading > 0 ? this.#speed.perSecond() : 0
    return { count: this.uploads.length, done: states.done, sent, size, speed, states }
  }

  /** Returns whether closing the page would interrupt an upload. */
  hasActive(): boolean {
    return this.uploads.some(({ state }) => activeStates.has(state))
  }

  /** @throws StowageError if an empty folder cannot be created */
  async add({ files, emptyFolders }: FileSelection, providerId: string, folder: string): Promise<void> {
    // A file that is chosen again replaces its interrupted upload.
    const paths = new Set(files.map(({ relativePath }) => childPath(folder, relativePath)))
    this.uploads = this.uploads.filter(
      upload => upload.state !== 'interrupted' || upload.providerId !== providerId || !paths.has(upload.path),
    )
    for (const { file, relativePath } of files) {
      this.uploads.push(this.#createUpload(providerId, childPath(folder, relativePath), file.size, file))
    }
    this.#startNext()
    for (const name of emptyFolders) {
      const path = childPath(folder, name)
      await createFolder({ providerId, path }).catch(error => {
        if (!(error instanceof StowageError) || error.reason !== 'ALREADY_EXISTS') throw error
      })
    }
  }

  pause(uploads: readonly QueuedUpload[]): void {
    for (const upload of uploads) {
      if (upload.state !== 'uploading' && upload.state !== 'waiting' && upload.state !== 'retrying') continue
      upload.transfer?.pause()
      upload.state = 'paused'
    }
    this.#startNext()
  }

  /** Resumes paused uploads and retries failed ones. */
  resume(uploads: readonly QueuedUpload[]): void {
    for (const upload of uploads) {
      if (upload.state !== 'paused' && upload.state !== 'failed') continue
      Object.assign(upload, { state: 'waiting', error: null })
    }
    this.#startNext()
  }

  cancel(upload: QueuedUpload): void {
    if (upload.state !== 'done') {
      void upload.transfer?.cancel().catch(() => {
        // The server deletes the upload when it expires.
      })
      if (upload.unfinishedKey) forgetUnfinished(upload.unfinishedKey)
    }
    this.uploads = this.uploads.filter(other => other !== upload)
    this.#startNext()
  }

  /** Resolves a conflict; with `forAll` also all other and later ones. */
  resolve(upload: QueuedUpload, conflict: Conflict, forAll: boolean): void {
    if (forAll) this.#conflict = conflict
    for (const other of forAll ? this.uploads.filter(({ state }) => state === 'conflict') : [upload]) {
      Object.assign(other, { conflict, state: 'waiting', error: null, transfer: null, sent: 0 })
    }
    this.#startNext()
  }

  /** Continues an interrupted upload with its file. Returns false if it is a different file. */
  attachFile(upload: QueuedUpload, file: File): boolean {
    if (!upload.unfinishedKey?.includes(`.${file.size}.${file.lastModified}.`)) return false
    Object.assign(upload, { file, state: 'waiting' })
    this.#startNext()
    return true
  }

  clearDone(): void {
    this.uploads = this.uploads.filter(({ state }) => state !== 'done')
    if (this.uploads.length === 0) this.#conflict = 'FAIL'
    this.#startNext()
  }

  /** Lists interrupted uploads, except those that another tab works on or that were chosen again. */
  async #restore(): Promise<void> {
    const locked = await lockedFingerprints()
    if (this.#isClosed) return
    for (const { key, providerId, path, size } of unfinishedOf(this.#userId)) {
      const isQueued = this.uploads.some(upload => upload.providerId === providerId && upload.path === path)
      if (locked.has(key) || isQueued) continue
      this.uploads.push({
        ...this.#createUpload(providerId, path, size, null),
        state: 'interrupted',
        unfinishedKey: key,
      })
    }
    this.#scheduleUpdate()
  }

  #createUpload(providerId: string, path: string, size: number, file: File | null): QueuedUpload {
    const id = this.#nextId++
    const fresh = { sent: 0, error: null, transfer: null, unfinishedKey: null }
    return { id, providerId, path, size, file, state: 'waiting', conflict: this.#conflict, ...fresh }
  }

  #startNext(): void {
    let activeCount = 0
    for (const { state } of this.uploads) if (state === 'uploading' || state === 'retrying') activeCount += 1
    for (const upload of this.uploads) {
      if (activeCount >= concurrency) break
      if (upload.state !== 'waiting' || !upload.file) continue
      this.#start(upload, upload.file)
      activeCount += 1
    }
    this.#scheduleUpdate()
  }

  #start(upload: QueuedUpload, file: File): void {
    upload.state = 'uploading'
    upload.transfer ??= new Transfer({
      userId: this.#userId,
      providerId: upload.providerId,
      path: upload.path,
      file,
      conflict: upload.conflict,
      onProgress: sent => {
        // The first progress of a resumed upload includes bytes that were sent earlier.
        if (upload.sent > 0 || sent < maxFirstProgress) this.#speed.add(Math.max(0, sent - upload.sent))
        Object.assign(upload, { state: 'uploading', error: null, sent })
        this.#scheduleUpdate()
      },
      onRetry: error => {
        Object.assign(upload, { state: 'retrying', error })
        this.#scheduleUpdate()
      },
      onDone: storedPath => {
        Object.assign(upload, { state: 'done', sent: upload.size, path: storedPath, transfer: null })
        this.#onStored(upload.providerId, storedPath, upload)
        this.#startNext()
      },
      onError: error => {
        this.#handleError(upload, error)
        this.#startNext()
      },
    })
    upload.transfer.start()
  }

  #handleError(upload: QueuedUpload, error: unknown): void {
    if (!(error instanceof StowageError) || error.reason !== 'ALREADY_EXISTS') {
      Object.assign(upload, { state: 'failed', error })
      return
    }
    const hasResolution = this.#conflict !== 'FAIL' && upload.conflict === 'FAIL'
    if (hasResolution) Object.assign(upload, { state: 'waiting', conflict: this.#conflict, transfer: null, sent: 0 })
    else Object.assign(upload, { state: 'conflict', error, transfer: null })
  }

  #warn = (event: BeforeUnloadEvent): void => {
    if (this.hasActive()) event.preventDefault()
  }

  #scheduleUpdate(): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#version += 1
      for (const listener of this.#listeners) listener()
    }, updateInterval)
  }
}

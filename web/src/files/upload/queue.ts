/** Uploads. `choose-files.tsx` takes files from people, this queue runs a `Transfer` for each, and the panel shows the queue. */
import { StowageError } from '../../api/client.ts'
import { forgetSharedFiles } from '../../api/device.ts'
import { childPath } from '../../api/locations.ts'
import { Notifier } from '../../lib/notifier.ts'
import type { Conflict } from '../operations.ts'
import type { FileSelection } from './choose-files.tsx'
import { isReserved, members, type NameHolder, type UploadTarget } from './target.ts'
import { Speed, Transfer } from './transfer.ts'
import { forgetUnfinished, lockedFingerprints, unfinishedOf } from './unfinished-uploads.ts'

type UploadState =
  | 'waiting'
  | 'uploading'
  /** Tries again after a temporary failure. */
  | 'retrying'
  | 'paused'
  | 'conflict'
  /** Another upload has the name, and no file has it yet. */
  | 'reserved'
  | 'failed'
  /** Started before a reload. The person has to choose the file again. */
  | 'interrupted'
  | 'done'

/** The behavior of an upload whose name is taken. */
export type Resolution = Exclude<Conflict, 'FAIL'> | 'SKIP'

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

export type StoredListener = (providerId: string, path: string, upload: QueuedUpload) => void

/** Uploads that run at once. With HTTP/1.1 browsers open six connections to a server, and the page needs some of them. */
const concurrency = isMultiplexed() ? 12 : 4
/** Uploads of large files that run at once, so that connections remain for the page. */
const largeConcurrency = 3
/** Bytes. Files up to this size are sent in one request. */
const smallFile = 8 * 1024 * 1024
const activeStates: ReadonlySet<UploadState> = new Set([
  'waiting',
  'uploading',
  'retrying',
  'paused',
  'conflict',
  'reserved',
])
/** Bytes. If the first progress of an upload is larger, it does not count for the speed. */
const maxFirstProgress = 4 * 1024 * 1024

/** Returns whether all requests of the page share one connection, as with HTTP/2 and HTTP/3. */
function isMultiplexed(): boolean {
  const [navigation] = performance.getEntriesByType('navigation')
  return /^h[23]/.test((navigation as PerformanceNavigationTiming | undefined)?.nextHopProtocol ?? '')
}

/** Deletes the copy of a file that another program has shared. One that stays is offered again, and then has its name twice. */
function forgetCopy(file: File | null): void {
  if (file) void forgetSharedFiles([file]).catch(() => {})
}

const isLarge = ({ size }: QueuedUpload): boolean => size > smallFile

export class UploadQueue {
  uploads: QueuedUpload[] = []
  readonly changes = new Notifier()
  readonly userId: string
  readonly #onStored: StoredListener
  readonly #target: UploadTarget
  readonly #speed = new Speed()
  #nextId = 1
  #isClosed = false
  /** The resolution for later conflicts; null asks the person. */
  #resolution: Resolution | null = null

  /** @param target where the files go. Default: the storages of the person who is signed in */
  constructor(userId: string, onStored: StoredListener, target = members) {
    this.userId = userId
    this.#onStored = onStored
    this.#target = target
    void this.#restore()
    addEventListener('beforeunload', this.#warn)
    addEventListener('online', this.#wakeInSight)
    document.addEventListener('visibilitychange', this.#wakeInSight)
  }

  /** Stops all uploads. The server keeps the bytes that it has stored. */
  close(): void {
    removeEventListener('beforeunload', this.#warn)
    removeEventListener('online', this.#wakeInSight)
    document.removeEventListener('visibilitychange', this.#wakeInSight)
    for (const { transfer } of this.uploads) {
      transfer?.pause()
      transfer?.release()
    }
    this.uploads = []
    this.#isClosed = true
  }

  totals(): Totals {
    const states: Totals['states'] = {
      waiting: 0,
      uploading: 0,
      retrying: 0,
      paused: 0,
      conflict: 0,
      reserved: 0,
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
    // A decision applies only to the uploads that were active at the time.
    if (!this.hasActive()) this.#resolution = null
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
      await this.#target.createFolder({ providerId, path }).catch(error => {
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

  /** Resumes paused uploads, and retries failed ones and those whose name was reserved. */
  resume(uploads: readonly QueuedUpload[]): void {
    for (const upload of uploads) {
      if (upload.state !== 'paused' && upload.state !== 'failed' && upload.state !== 'reserved') continue
      Object.assign(upload, { state: 'waiting', error: null })
    }
    this.#startNext()
  }

  /** Continues at once what waits to try again, and what failed for a reason that may have passed: the device may have slept. */
  #wake(): void {
    for (const upload of this.uploads) {
      const { state, error, transfer } = upload
      const hasFailed = state === 'failed' && error instanceof StowageError && error.retryable
      if (state !== 'retrying' && !hasFailed) continue
      transfer?.pause()
      Object.assign(upload, { state: 'waiting', error: null })
    }
    this.#startNext()
  }

  /** Cancels and removes uploads. Those that are done only disappear from the list. */
  cancel(uploads: readonly QueuedUpload[]): void {
    for (const upload of uploads) {
      if (upload.state === 'done') continue
      // The server deletes an upload that it cannot cancel now when it expires.
      void upload.transfer?.cancel().catch(() => {})
      forgetCopy(upload.file)
      if (upload.unfinishedKey) forgetUnfinished(upload.unfinishedKey)
    }
    const removed = new Set(uploads)
    this.uploads = this.uploads.filter(upload => !removed.has(upload))
    this.#startNext()
  }

  cancelAll(): void {
    this.cancel(this.uploads.filter(({ state }) => state !== 'done'))
  }

  resolve(uploads: readonly QueuedUpload[], resolution: Resolution): void {
    if (resolution === 'SKIP') {
      this.cancel(uploads)
      return
    }
    for (const upload of uploads) {
      Object.assign(upload, { conflict: resolution, state: 'waiting', error: null, transfer: null, sent: 0 })
    }
    this.#startNext()
  }

  /** Resolves all conflicts, and later ones of the uploads that are active. */
  resolveAll(resolution: Resolution): void {
    this.#resolution = resolution
    this.resolve(
      this.uploads.filter(({ state }) => state === 'conflict'),
      resolution,
    )
  }

  /** Ends the upload that reserves the name, and begins again. */
  takeOver(upload: QueuedUpload, { id }: NameHolder): void {
    const { providerId, path } = upload
    Object.assign(upload, { state: 'uploading', error: null, sent: 0 })
    this.changes.notifySoon()
    const ifWaiting = (act: () => void) => () => {
      // Meanwhile, the person may have paused or canceled the upload.
      if (upload.state === 'uploading' && this.uploads.includes(upload)) act()
      this.#startNext()
    }
    const begin = ifWaiting(() => Object.assign(upload, { state: 'waiting' }))
    this.#target.takeOver({ providerId, path }, id).then(begin, error => {
      const hasEnded = error instanceof StowageError && error.reason === 'NOT_FOUND'
      if (hasEnded) begin()
      else ifWaiting(() => Object.assign(upload, { state: 'failed', error }))()
    })
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
    this.#startNext()
  }

  /** Lists interrupted uploads, except those that another tab works on or that were chosen again. */
  async #restore(): Promise<void> {
    const locked = await lockedFingerprints()
    if (this.#isClosed) return
    for (const { key, providerId, path, size } of unfinishedOf(this.userId)) {
      const isQueued = this.uploads.some(upload => upload.providerId === providerId && upload.path === path)
      if (locked.has(key) || isQueued) continue
      this.uploads.push({
        ...this.#createUpload(providerId, path, size, null),
        state: 'interrupted',
        unfinishedKey: key,
      })
    }
    this.changes.notifySoon()
  }

  #createUpload(providerId: string, path: string, size: number, file: File | null): QueuedUpload {
    const id = this.#nextId++
    const fresh = { sent: 0, error: null, transfer: null, unfinishedKey: null }
    return { id, providerId, path, size, file, state: 'waiting', conflict: 'FAIL', ...fresh }
  }

  #startNext(): void {
    const active = this.uploads.filter(({ state }) => state === 'uploading' || state === 'retrying')
    let free = concurrency - active.length
    let freeForLarge = largeConcurrency - active.filter(isLarge).length
    for (const upload of this.uploads) {
      if (free <= 0) break
      if (upload.state !== 'waiting' || !upload.file) continue
      if (isLarge(upload)) {
        if (freeForLarge <= 0) continue
        freeForLarge -= 1
      }
      free -= 1
      this.#start(upload, upload.file)
    }
    this.changes.notifySoon()
  }

  #start(upload: QueuedUpload, file: File): void {
    upload.state = 'uploading'
    upload.transfer ??= new Transfer({
      target: this.#target,
      userId: this.userId,
      providerId: upload.providerId,
      path: upload.path,
      file,
      conflict: upload.conflict,
      onProgress: sent => {
        // The first progress of a resumed upload includes bytes that were sent earlier.
        if (upload.sent > 0 || sent < maxFirstProgress) this.#speed.add(Math.max(0, sent - upload.sent))
        Object.assign(upload, { state: 'uploading', error: null, sent })
        this.changes.notifySoon()
      },
      onRetry: error => {
        Object.assign(upload, { state: 'retrying', error })
        this.changes.notifySoon()
      },
      onDone: storedPath => {
        Object.assign(upload, { state: 'done', sent: upload.size, path: storedPath, transfer: null })
        forgetCopy(file)
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
    if (isReserved(error)) {
      Object.assign(upload, { state: 'reserved', error, transfer: null })
      return
    }
    if (!(error instanceof StowageError) || error.reason !== 'ALREADY_EXISTS') {
      Object.assign(upload, { state: 'failed', error })
      return
    }
    Object.assign(upload, { state: 'conflict', error, transfer: null })
    if (this.#resolution !== null && upload.conflict === 'FAIL') this.resolve([upload], this.#resolution)
  }

  #wakeInSight = () => {
    if (document.visibilityState === 'visible') this.#wake()
  }

  #warn = (event: BeforeUnloadEvent): void => {
    if (this.hasActive()) event.preventDefault()
  }
}

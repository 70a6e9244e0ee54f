import { ApiError } from '../../api/request.ts'
import { type Conflict, createFolder } from '../operations.ts'
import { childPath } from '../paths.ts'
import type { Given } from './dropped-files.ts'
import { forgetUnfinished, heldFingerprints, unfinishedOf } from './memory.ts'
import { Speed } from './speed.ts'
import { createTransfer, type Transfer } from './transfer.ts'

export type UploadState =
  | 'waiting'
  | 'running'
  /** Until the server is there again. */
  | 'stalled'
  | 'paused'
  | 'conflict'
  | 'failed'
  /** From before a reload: its file has to be given again. */
  | 'interrupted'
  | 'done'

export interface UploadItem {
  readonly id: number
  readonly providerId: string
  /** Of the file; once it is stored, where it is. */
  path: string
  /** Bytes. */
  readonly size: number
  sent: number
  state: UploadState
  error: ApiError | null
  conflict: Conflict
  file: File | null
  transfer: Transfer | null
  /** How often it has failed for a reason that may pass, since the server last had more of it. */
  failures: number
  /** Bytes that the server had when it was last asked. */
  kept: number
  /** Of what is remembered of it. */
  readonly unfinishedKey: string | null
}

export interface Totals {
  count: number
  done: number
  sent: number
  size: number
  /** Bytes each second. */
  speed: number
  states: Record<UploadState, number>
}

type Stored = (providerId: string, path: string, item: UploadItem) => void

const atOnce = 3
const underWay: ReadonlySet<UploadState> = new Set(['waiting', 'running', 'stalled', 'paused', 'conflict'])
/** Milliseconds between two looks of the page at what has become of it. */
const pulse = 200
const longestWait = 30_000
/** Of faults of the server; for a network that is gone there is no end of patience. */
const mostFailures = 6

/** Where a connection breaks, browsers send a request again by themselves; the server has part of it by then. */
export const wasSentAgain = (error: ApiError): boolean => error.reason === 'OFFSET_MISMATCH'

export class UploadQueue {
  items: UploadItem[] = []
  readonly #userId: string
  readonly #onStored: Stored
  readonly #listeners = new Set<() => void>()
  readonly #speed = new Speed()
  #version = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #nextId = 1
  #isClosed = false
  /** What was chosen for all conflicts to come. */
  #conflict: Conflict = 'FAIL'

  constructor(userId: string, onStored: Stored) {
    this.#userId = userId
    this.#onStored = onStored
    void this.#recall()
    addEventListener('online', this.#wake)
    addEventListener('beforeunload', this.#warn)
  }

  /** Ends all of it; what the server has stays there. */
  close(): void {
    removeEventListener('online', this.#wake)
    removeEventListener('beforeunload', this.#warn)
    for (const { transfer } of this.items) {
      void transfer?.pause()
      transfer?.release()
    }
    this.items = []
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
      running: 0,
      stalled: 0,
      paused: 0,
      conflict: 0,
      failed: 0,
      interrupted: 0,
      done: 0,
    }
    let sent = 0
    let size = 0
    for (const item of this.items) {
      states[item.state] += 1
      if (item.state === 'interrupted') continue
      sent += item.sent
      size += item.size
    }
    const speed = states.running > 0 ? this.#speed.perSecond() : 0
    return { count: this.items.length, done: states.done, sent, size, speed, states }
  }

  /** Whether something would have to be given again if the page went now. */
  isUnderWay(): boolean {
    return this.items.some(({ state }) => underWay.has(state))
  }

  /** @throws ApiError where an empty folder could not be made */
  async add(given: Given, providerId: string, folder: string): Promise<void> {
    // What is begun anew here takes the place of what was interrupted.
    const paths = new Set(given.files.map(({ relativePath }) => childPath(folder, relativePath)))
    this.items = this.items.filter(
      item => item.state !== 'interrupted' || item.providerId !== providerId || !paths.has(item.path),
    )
    for (const { file, relativePath } of given.files) {
      this.items.push(this.#item(providerId, childPath(folder, relativePath), file.size, file))
    }
    this.#work()
    for (const name of given.emptyFolders) {
      const path = childPath(folder, name)
      await createFolder({ providerId, path }).catch(error => {
        if (!(error instanceof ApiError) || error.reason !== 'ALREADY_EXISTS') throw error
      })
    }
  }

  pause(items: readonly UploadItem[]): void {
    for (const item of items) {
      if (item.state !== 'running' && item.state !== 'waiting' && item.state !== 'stalled') continue
      void item.transfer?.pause()
      item.state = 'paused'
    }
    this.#work()
  }

  /** Also what has failed. */
  resume(items: readonly UploadItem[]): void {
    for (const item of items) {
      if (item.state !== 'paused' && item.state !== 'failed') continue
      Object.assign(item, { state: 'waiting', error: null, failures: 0 })
    }
    this.#work()
  }

  cancel(item: UploadItem): void {
    if (item.state !== 'done') {
      void item.transfer?.cancel().catch(() => {
        // The server forgets it by itself.
      })
      if (item.unfinishedKey) forgetUnfinished(item.unfinishedKey)
    }
    this.items = this.items.filter(other => other !== item)
    this.#work()
  }

  /** For one whose name is taken, or for all such and those to come. */
  resolve(item: UploadItem, conflict: Conflict, forAll: boolean): void {
    if (forAll) this.#conflict = conflict
    for (const other of forAll ? this.items.filter(({ state }) => state === 'conflict') : [item]) {
      Object.assign(other, { conflict, state: 'waiting', error: null, transfer: null, sent: 0 })
    }
    this.#work()
  }

  /** @returns false where it is another file */
  giveAgain(item: UploadItem, file: File): boolean {
    if (!item.unfinishedKey?.includes(`.${file.size}.${file.lastModified}.`)) return false
    Object.assign(item, { file, state: 'waiting' })
    this.#work()
    return true
  }

  clearDone(): void {
    this.items = this.items.filter(({ state }) => state !== 'done')
    if (this.items.length === 0) this.#conflict = 'FAIL'
    this.#work()
  }

  /** What was left, but for what other tabs are at, or what was given here meanwhile. */
  async #recall(): Promise<void> {
    const held = await heldFingerprints()
    if (this.#isClosed) return
    for (const { key, providerId, path, size } of unfinishedOf(this.#userId)) {
      const isHere = this.items.some(item => item.providerId === providerId && item.path === path)
      if (held.has(key) || isHere) continue
      this.items.push({ ...this.#item(providerId, path, size, null), state: 'interrupted', unfinishedKey: key })
    }
    this.#changed()
  }

  #item(providerId: string, path: string, size: number, file: File | null): UploadItem {
    const id = this.#nextId++
    const fresh = { sent: 0, error: null, transfer: null, failures: 0, kept: 0, unfinishedKey: null }
    return { id, providerId, path, size, file, state: 'waiting', conflict: this.#conflict, ...fresh }
  }

  #work(): void {
    let running = 0
    for (const { state } of this.items) if (state === 'running') running += 1
    for (const item of this.items) {
      if (running >= atOnce) break
      if (item.state !== 'waiting' || !item.file) continue
      this.#start(item, item.file)
      running += 1
    }
    this.#changed()
  }

  #start(item: UploadItem, file: File): void {
    item.state = 'running'
    const isCurrent = () => item.state === 'running'
    item.transfer ??= createTransfer({
      userId: this.#userId,
      providerId: item.providerId,
      path: item.path,
      file,
      conflict: item.conflict,
      onProgress: sent => {
        if (!isCurrent()) return
        // What the server has already was not sent now.
        if (item.sent > 0 || sent < 4 * 1024 * 1024) this.#speed.add(sent - item.sent)
        item.sent = sent
        this.#changed()
      },
      onKept: bytes => {
        if (bytes > item.kept) Object.assign(item, { kept: bytes, failures: 0 })
      },
      onDone: storedPath => {
        Object.assign(item, { state: 'done', sent: item.size, path: storedPath, transfer: null })
        this.#onStored(item.providerId, storedPath, item)
        this.#work()
      },
      onError: error => {
        if (!isCurrent()) return
        this.#failed(item, error)
        this.#work()
      },
    })
    item.transfer.start()
  }

  #failed(item: UploadItem, error: ApiError): void {
    const mayPass =
      error.status === 0 || error.status >= 502 || error.status === 429 || error.status === 423 || wasSentAgain(error)
    item.failures += 1
    if (mayPass && (error.status === 0 || item.failures < mostFailures)) {
      Object.assign(item, { state: 'stalled', error })
      setTimeout(() => this.#goOn(item), Math.min(longestWait, 1000 * 2 ** (item.failures - 1)))
    } else if (error.reason === 'ALREADY_EXISTS' && this.#conflict !== 'FAIL' && item.conflict === 'FAIL') {
      item.transfer?.release()
      Object.assign(item, { state: 'waiting', conflict: this.#conflict, transfer: null, sent: 0 })
    } else if (error.reason === 'ALREADY_EXISTS') {
      item.transfer?.release()
      Object.assign(item, { state: 'conflict', error, transfer: null })
    } else {
      Object.assign(item, { state: 'failed', error })
    }
  }

  #goOn(item: UploadItem): void {
    if (item.state !== 'stalled') return
    item.state = 'waiting'
    this.#work()
  }

  #wake = (): void => {
    for (const item of this.items) this.#goOn(item)
  }

  #warn = (event: BeforeUnloadEvent): void => {
    if (this.isUnderWay()) event.preventDefault()
  }

  #changed(): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#version += 1
      for (const listener of this.#listeners) listener()
    }, pulse)
  }
}

/** The files and folders that a session has open. */
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'
import type { FileReads, FileWrites, FolderReads, RandomWrites } from '../../services/open-files/index.ts'
import type { WantedAttributes } from './attributes.ts'
import type { NamedEntry } from './messages.ts'
import type { SftpTarget } from './paths.ts'

export const maxHandles = 256
/** Open files take descriptors and streams, so their number is bounded for each member and the process, over all sessions. */
const slots = new Slots<'member'>({ member: 1024, all: 8192 })

export type SftpHandle = { turns: Turns } & (
  | {
      kind: 'folder'
      /** Entries that are read and not sent yet. */
      waiting: NamedEntry[]
      /** Null for a folder of no storage. */
      pages: FolderReads | null
    }
  | { kind: 'reads'; reads: FileReads; sent: number }
  | {
      kind: 'writes'
      file: FileWrites
      target: SftpTarget
      mayRead: boolean
      /** A modification time that came after the upload had begun. */
      lateTime: Date | undefined
    }
)

export type WritingHandle = Extract<SftpHandle, { kind: 'writes' }>

/** Keeps the order of operations on one handle. Reads run at the same time. */
export class Turns {
  #exclusive: Promise<unknown> = Promise.resolve()
  readonly #shared = new Set<Promise<unknown>>()
  #isOver = false

  /** @throws INVALID_INPUT after the last turn has been given */
  async share<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw notOpen()
    const result = this.#exclusive.then(work)
    const settled = result.catch(() => {})
    this.#shared.add(settled)
    try {
      return await result
    } finally {
      this.#shared.delete(settled)
    }
  }

  /** @throws INVALID_INPUT after the last turn has been given */
  async exclude<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw notOpen()
    const result = Promise.all([this.#exclusive, ...this.#shared]).then(work)
    this.#exclusive = result.catch(() => {})
    return result
  }

  /** Closes what the turns are about, after all others. */
  last<T>(work: () => Promise<T>): Promise<T> {
    const result = this.exclude(work)
    this.#isOver = true
    return result
  }
}

interface OpenHandle {
  handle: SftpHandle
  slot: Disposable
  isClosing: boolean
}

export class Handles {
  readonly #places = new Slots<never>({ all: maxHandles })
  readonly #open = new Map<string, OpenHandle>()
  readonly #member: string
  #next = 1
  /** Why the session has ended. */
  #end: { reason: unknown } | null = null

  constructor(member: string) {
    this.#member = member
  }

  /** @throws TOO_MANY_UPLOADS */
  #reserve(): Disposable {
    const refusal = (_level: unknown, limit: number) => tooMany(limit)
    const place = this.#places.take({}, refusal)
    try {
      const slot = slots.take({ member: this.#member }, refusal)
      return {
        [Symbol.dispose]() {
          place[Symbol.dispose]()
          slot[Symbol.dispose]()
        },
      }
    } catch (error) {
      place[Symbol.dispose]()
      throw error
    }
  }

  /**
   * Takes a place for a handle, and then opens it. Returns its id.
   * @throws TOO_MANY_UPLOADS, what `open` throws, the reason for the end of the session, which has not waited for the handle
   */
  async add(open: () => Promise<SftpHandle>): Promise<string> {
    const slot = this.#reserve()
    try {
      const handle = await open()
      if (this.#end) {
        const { reason } = this.#end
        await discard(handle, reason)
        throw reason
      }
      const id = String(this.#next++)
      this.#open.set(id, { handle, slot, isClosing: false })
      return id
    } catch (error) {
      slot[Symbol.dispose]()
      throw error
    }
  }

  /** @throws INVALID_INPUT for an unknown handle */
  get(id: string): SftpHandle {
    return this.#find(id).handle
  }

  /** Returns a handle that is about to be closed. It has its place until `remove`, but no further operations. @throws INVALID_INPUT */
  take(id: string): SftpHandle {
    const found = this.#find(id)
    found.isClosing = true
    return found.handle
  }

  #find(id: string): OpenHandle {
    const found = this.#open.get(id)
    if (!found || found.isClosing) throw notOpen()
    return found
  }

  remove(id: string): void {
    this.#open.get(id)?.slot[Symbol.dispose]()
    this.#open.delete(id)
  }

  /** Returns the file at a location that the session is writing; null if there is none. */
  writing({ providerId, path }: { providerId: string; path: string }): WritingHandle | null {
    for (const { handle } of this.#open.values()) {
      if (handle.kind !== 'writes') continue
      if (handle.target.providerId === providerId && handle.target.path === path) return handle
    }
    return null
  }

  /** Closes everything without storing anything, after what runs on the handles. @param reason why the session ends */
  async closeAll(reason: unknown): Promise<void> {
    this.#end = { reason }
    const open = [...this.#open]
    await Promise.allSettled(
      open.map(async ([id, { handle, isClosing }]) => {
        // The end of the session ends a CLOSE, too, which then removes the handle.
        if (isClosing) return
        try {
          await discard(handle, reason)
        } finally {
          this.remove(id)
        }
      }),
    )
  }
}

function discard(handle: SftpHandle, reason: unknown): Promise<void> {
  return handle.turns.last(async () => {
    if (handle.kind === 'writes') await handle.file[Symbol.asyncDispose]()
    else await closeReads(handle, reason)
  })
}

/** @param error what interrupted the client */
export async function closeReads(handle: Exclude<SftpHandle, { kind: 'writes' }>, error?: unknown): Promise<void> {
  if (handle.kind === 'folder') await handle.pages?.close()
  else await handle.reads.close(handle.sent, error)
}

/** @throws the reason why the file may no longer be written */
export function writesOf({ file }: WritingHandle): RandomWrites {
  file.signal.throwIfAborted()
  return file.writes
}

/** Sets the size and the time of an open file. */
export function changeOpen(handle: WritingHandle, { size, modifiedAt }: WantedAttributes): Promise<void> {
  return handle.turns.exclude(async () => {
    const writes = writesOf(handle)
    if (size !== undefined) await writes.truncate(size)
    if (modifiedAt && !writes.setTime(modifiedAt)) handle.lateTime = modifiedAt
  })
}

/** @throws INVALID_INPUT if the file is not open for reading */
export function readerOf(handle: SftpHandle): FileReads['read'] {
  if (handle.kind === 'reads') return handle.reads.read
  if (handle.kind === 'writes' && handle.mayRead) return async (...args) => writesOf(handle).read(...args)
  throw new AppError('INVALID_INPUT', 'The file is not open for reading.')
}

function notOpen(): AppError {
  return new AppError('INVALID_INPUT', 'There is no such open file or folder.')
}

function tooMany(limit: number): AppError {
  return new AppError('TOO_MANY_UPLOADS', `${limit} files and folders are open, which is the limit: close one first.`)
}

/** The files and folders that a session has open. */
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'
import type { FileReads, FolderReads, RandomWrites } from '../../services/open-files/index.ts'
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
      writes: RandomWrites
      target: SftpTarget
      mayRead: boolean
      /** A modification time that came after the upload had begun. */
      lateTime: Date | undefined
    }
)

/** Keeps the order of operations on one handle. Reads run at the same time. */
export class Turns {
  #exclusive: Promise<unknown> = Promise.resolve()
  readonly #shared = new Set<Promise<unknown>>()

  async share<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#exclusive.then(work)
    const settled = result.catch(() => {})
    this.#shared.add(settled)
    try {
      return await result
    } finally {
      this.#shared.delete(settled)
    }
  }

  exclude<T>(work: () => Promise<T>): Promise<T> {
    const result = Promise.all([this.#exclusive, ...this.#shared]).then(work)
    this.#exclusive = result.catch(() => {})
    return result
  }
}

export class Handles {
  readonly #places = new Slots<never>({ all: maxHandles })
  readonly #open = new Map<string, { handle: SftpHandle; slot: Disposable }>()
  readonly #member: string
  #next = 1

  constructor(member: string) {
    this.#member = member
  }

  /** Takes a place for a handle, before it is opened. Dispose of the place if that fails. @throws TOO_MANY_UPLOADS */
  reserve(): Disposable {
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

  /** @param slot as `reserve` returned it */
  add(handle: SftpHandle, slot: Disposable): string {
    const id = String(this.#next++)
    this.#open.set(id, { handle, slot })
    return id
  }

  /** @throws INVALID_INPUT for an unknown handle */
  get(id: string): SftpHandle {
    const found = this.#open.get(id)
    if (!found) throw new AppError('INVALID_INPUT', 'There is no such open file or folder.')
    return found.handle
  }

  remove(id: string): void {
    this.#open.get(id)?.slot[Symbol.dispose]()
    this.#open.delete(id)
  }

  /** Returns the file at a location that the session is writing; null if there is none. */
  writing({ providerId, path }: { providerId: string; path: string }): RandomWrites | null {
    for (const { handle } of this.#open.values()) {
      if (handle.kind !== 'writes') continue
      if (handle.target.providerId === providerId && handle.target.path === path) return handle.writes
    }
    return null
  }

  /** Closes everything without storing anything. @param reason why the session ends */
  async closeAll(reason: unknown): Promise<void> {
    const open = [...this.#open]
    await Promise.allSettled(
      open.map(async ([id, { handle }]) => {
        try {
          await discard(handle, reason)
        } finally {
          this.remove(id)
        }
      }),
    )
  }
}

async function discard(handle: SftpHandle, reason: unknown): Promise<void> {
  if (handle.kind === 'writes') await handle.writes[Symbol.asyncDispose]()
  else await closeReads(handle, reason)
}

/** @param error what interrupted the client */
export async function closeReads(handle: Exclude<SftpHandle, { kind: 'writes' }>, error?: unknown): Promise<void> {
  if (handle.kind === 'folder') await handle.pages?.close()
  else await handle.reads.close(handle.sent, error)
}

function tooMany(limit: number): AppError {
  return new AppError('TOO_MANY_UPLOADS', `${limit} files and folders are open, which is the limit: close one first.`)
}

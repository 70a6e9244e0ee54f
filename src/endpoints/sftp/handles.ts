/** The files and folders that a session has open. */
import { randomUUID } from 'node:crypto'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'
import type { FileReads, FolderReads } from '../../services/open-files/index.ts'
import type { NamedEntry } from './messages.ts'
import { areRelated, type SftpPath } from './paths.ts'
import { notOpen, type Turns } from './turns.ts'
import type { WrittenFile } from './written-file.ts'

export const maxHandles = 256
/** Open files take descriptors and streams, so their number is bounded for each session, each member and the process. */
const slots = new Slots<'session' | 'member'>({ session: maxHandles, member: 1024, all: 8192 })

export type SftpHandle =
  | {
      kind: 'folder'
      turns: Turns
      /** Entries that are read and not sent yet. */
      waiting: NamedEntry[]
      /** Null for a folder of no storage. */
      pages: FolderReads | null
    }
  | { kind: 'reads'; turns: Turns; reads: FileReads; sent: number }
  | {
      kind: 'written'
      written: WrittenFile
      mayRead: boolean
      mayWrite: boolean
      /** Whether what it writes goes to the end. */
      appends: boolean
    }

export type WritingHandle = Extract<SftpHandle, { kind: 'written' }>

interface OpenHandle {
  handle: SftpHandle
  slot: Disposable
  isClosing: boolean
}

export class Handles {
  readonly #open = new Map<string, OpenHandle>()
  readonly #owners: { session: string; member: string }
  #next = 1
  /** Why the session has ended. */
  #end: { reason: unknown } | null = null

  constructor(member: string) {
    this.#owners = { session: randomUUID(), member }
  }

  /**
   * Takes a slot for a handle, and then opens it. Returns its id.
   * @throws TOO_MANY_UPLOADS, what `open` throws, the reason for the end of the session, which has not waited for the handle
   */
  async add(open: () => Promise<SftpHandle>): Promise<string> {
    const slot = slots.take(this.#owners, (_level, limit) => tooMany(limit))
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

  /** Returns a handle that is about to be closed. It keeps its slot until `remove`, but has no further operations. @throws INVALID_INPUT */
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

  /** Returns the file at a path that the session is writing; undefined if there is none. */
  writtenAt(path: SftpPath): WrittenFile | undefined {
    return this.#written().find(({ target }) => target.sftpPath === path)
  }

  /** Whether the session is writing a file in a folder. */
  hasWrittenBelow(folder: SftpPath): boolean {
    return this.#written().some(
      ({ target: { sftpPath } }) => sftpPath.length > folder.length && areRelated(sftpPath, folder),
    )
  }

  #written(): WrittenFile[] {
    const all = [...this.#open.values()].flatMap(({ handle }) => (handle.kind === 'written' ? handle.written : []))
    return all.filter(({ isAtPath }) => isAtPath)
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
  if (handle.kind === 'written') return handle.written.close(handle.mayWrite)
  return handle.turns.last(() => closeReads(handle, reason))
}

/** @param error what interrupted the client */
export async function closeReads(handle: Exclude<SftpHandle, WritingHandle>, error?: unknown): Promise<void> {
  if (handle.kind === 'folder') await handle.pages?.close()
  else await handle.reads.close(handle.sent, error)
}

/** Returns what reads the file of a handle, in its turn. @throws INVALID_INPUT if the file is not open for reading */
export function readerOf(handle: SftpHandle): FileReads['read'] {
  if (handle.kind === 'reads') return (...read) => handle.turns.share(() => handle.reads.read(...read))
  if (handle.kind === 'written' && handle.mayRead) {
    const { written } = handle
    return (...read) => written.turns.exclude(async () => written.writes.read(...read))
  }
  throw new AppError('INVALID_INPUT', 'The file is not open for reading.')
}

function tooMany(limit: number): AppError {
  return new AppError('TOO_MANY_UPLOADS', `${limit} files and folders are open, which is the limit: close one first.`)
}

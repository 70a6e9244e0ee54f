import { randomUUID } from 'node:crypto'
import { totalmem } from 'node:os'
import { type Entry, StorageError, type StoragePath, segmentsOf } from '../../contract.ts'

export interface File {
  kind: 'file'
  id: string
  chunks: Buffer[]
  size: number
  modifiedAt: Date
  etag: string
  mimeType: string | null
}

export interface Directory {
  kind: 'directory'
  id: string
  modifiedAt: Date
  children: Map<string, File | Directory>
  /** The sorted names of `children`, so that listings need not sort. */
  names: string[]
}

/** The bytes that each file and directory counts in addition to its content, so that empty files are bounded, too. */
export const entryBytes = 1024

/** The maximum length of a name in bytes. A cursor is a name, and the length of cursors is limited. */
const maxNameBytes = 255

export class Tree {
  readonly budget: Budget
  readonly #root = newDirectory()

  constructor(budget: Budget) {
    this.budget = budget
  }

  lookUp(names: readonly string[]): File | Directory | undefined {
    let entry: File | Directory | undefined = this.#root
    for (const name of names) entry = entry?.kind === 'directory' ? entry.children.get(name) : undefined
    return entry
  }

  find(path: StoragePath): File | Directory {
    const entry = this.lookUp(requireSegments(path))
    if (!entry) throw new StorageError('NOT_FOUND', 'There is nothing at this path.')
    return entry
  }

  makeDirectory(names: readonly string[], lastIsFile: 'ALREADY_EXISTS' | 'NOT_A_DIRECTORY'): Directory {
    let directory = this.#root
    for (const [depth, name] of names.entries()) {
      const child = directory.children.get(name)
      if (child?.kind === 'file') {
        const code = depth === names.length - 1 ? lastIsFile : 'NOT_A_DIRECTORY'
        throw new StorageError(code, `"${name}" in this path is a file, not a folder.`)
      }
      if (!child) this.budget.take(entryBytes)
      const next = child ?? newDirectory()
      if (!child) put(directory, name, next)
      directory = next
    }
    return directory
  }
}

export function put(parent: Directory, name: string, entry: File | Directory): void {
  if (!parent.children.has(name)) parent.names.splice(indexAfter(parent.names, name), 0, name)
  parent.children.set(name, entry)
  parent.modifiedAt = new Date()
}

export function remove(parent: Directory, name: string): void {
  if (!parent.children.delete(name)) return
  parent.names.splice(indexAfter(parent.names, name) - 1, 1)
  parent.modifiedAt = new Date()
}

/** Returns the position of the first name after `name`. */
export function indexAfter(names: readonly string[], name: string): number {
  let low = 0
  let high = names.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((names[middle] ?? '') <= name) low = middle + 1
    else high = middle
  }
  return low
}

/** @throws INVALID_PATH */
export function requireSegments(path: StoragePath): string[] {
  const names = segmentsOf(path)
  if (names.some(name => Buffer.byteLength(name) > maxNameBytes)) {
    throw new StorageError('INVALID_PATH', `A name may have at most ${maxNameBytes} bytes.`)
  }
  return names
}

export function toEntry(name: string, entry: File | Directory): Entry {
  const { kind, modifiedAt, id: fileId } = entry
  if (entry.kind === 'directory') return { name, kind, size: null, modifiedAt, etag: null, mimeType: null, fileId }
  return { name, kind, size: entry.size, modifiedAt, etag: entry.etag, mimeType: entry.mimeType, fileId }
}

function newDirectory(): Directory {
  return { kind: 'directory', id: newId(), modifiedAt: new Date(), children: new Map(), names: [] }
}

export function newId(): string {
  return `memory:${randomUUID()}`
}

/** The maximum number of bytes of one provider. */
export const maxProviderBytes = 256 * 1024 * 1024

/**
 * The maximum number of bytes of all memory providers of this process: a quarter of the memory that the process may use, at
 * most 256 MiB. They can neither exhaust the server's memory nor make the machine swap.
 */
export const sharedBytes = Math.min(maxProviderBytes, Math.floor(usableMemory() / 4))

/** Returns the bytes of memory of the machine, or of the control group (a container) if that is less. */
function usableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Counts bytes in use up to a limit. A budget can be part of a larger one. */
export class Budget {
  readonly limit: number
  readonly #total: Budget | undefined
  readonly #refusal: string
  #used = 0

  /** @param refusal the message of the error for a write that does not fit */
  constructor(limit: number, refusal: string, total?: Budget) {
    this.limit = limit
    this.#refusal = refusal
    this.#total = total
  }

  get used(): number {
    return this.#used
  }

  /** The number of bytes that are free. */
  get left(): number {
    return Math.min(this.limit - this.#used, this.#total?.left ?? Number.POSITIVE_INFINITY)
  }

  /** @throws QUOTA_EXCEEDED */
  take(bytes: number): void {
    if (this.#used + bytes > this.limit) throw new StorageError('QUOTA_EXCEEDED', this.#refusal)
    this.#total?.take(bytes)
    this.#used += bytes
  }

  giveBack(bytes: number): void {
    this.#total?.giveBack(bytes)
    this.#used -= bytes
  }
}

import { randomUUID } from 'node:crypto'
import { type Entry, StorageError, type StoragePath, segmentsOf } from '../contract.ts'
import type { Budget } from './budget.ts'

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
  /** Those of `children`, in order: no page of a listing has to sort them. */
  names: string[]
}

/** Counted per file and directory on top of its bytes, so that a million empty files have a bound too. */
export const nodeBytes = 1024

/** A cursor is a name, and a cursor has a bound. */
const maxNameBytes = 255

export class Tree {
  readonly budget: Budget
  readonly #root = newDirectory()

  constructor(budget: Budget) {
    this.budget = budget
  }

  lookUp(names: readonly string[]): File | Directory | undefined {
    let node: File | Directory | undefined = this.#root
    for (const name of names) node = node?.kind === 'directory' ? node.children.get(name) : undefined
    return node
  }

  find(path: StoragePath): File | Directory {
    const node = this.lookUp(requireSegments(path))
    if (!node) throw new StorageError('NOT_FOUND', 'There is nothing at this path.')
    return node
  }

  makeDirectory(names: readonly string[], lastIsFile: 'ALREADY_EXISTS' | 'NOT_A_DIRECTORY'): Directory {
    let directory = this.#root
    for (const [depth, name] of names.entries()) {
      const child = directory.children.get(name)
      if (child?.kind === 'file') {
        const code = depth === names.length - 1 ? lastIsFile : 'NOT_A_DIRECTORY'
        throw new StorageError(code, `There is a file named "${name}" where a folder is wanted.`)
      }
      if (!child) this.budget.take(nodeBytes)
      const next = child ?? newDirectory()
      if (!child) put(directory, name, next)
      directory = next
    }
    return directory
  }
}

export function put(parent: Directory, name: string, node: File | Directory): void {
  if (!parent.children.has(name)) parent.names.splice(indexAfter(parent.names, name), 0, name)
  parent.children.set(name, node)
  parent.modifiedAt = new Date()
}

export function remove(parent: Directory, name: string): void {
  if (!parent.children.delete(name)) return
  parent.names.splice(indexAfter(parent.names, name) - 1, 1)
  parent.modifiedAt = new Date()
}

/** The position of the first name behind `name`. */
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

export function toEntry(name: string, node: File | Directory): Entry {
  const { kind, modifiedAt, id: fileId } = node
  if (node.kind === 'directory') return { name, kind, size: null, modifiedAt, etag: null, mimeType: null, fileId }
  return { name, kind, size: node.size, modifiedAt, etag: node.etag, mimeType: node.mimeType, fileId }
}

function newDirectory(): Directory {
  return { kind: 'directory', id: newId(), modifiedAt: new Date(), children: new Map(), names: [] }
}

export function newId(): string {
  return `memory:${randomUUID()}`
}

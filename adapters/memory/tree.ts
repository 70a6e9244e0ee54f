import { randomUUID } from 'node:crypto'
import { type Entry, StorageError, type StoragePath, segmentsOf } from '../contract.ts'

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
}

/** Counted per file and directory on top of its bytes, so that a million empty files have a bound too. */
export const nodeBytes = 1024

/** A cursor is a name, and a cursor has a bound. */
const maxNameBytes = 255

export class Tree {
  used = 0
  readonly maxBytes: number
  readonly #root = newDirectory()

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
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
      if (!child) this.reserve(nodeBytes)
      const next = child ?? newDirectory()
      if (!child) put(directory, name, next)
      directory = next
    }
    return directory
  }

  reserve(bytes: number): void {
    if (this.used + bytes > this.maxBytes) {
      throw new StorageError('QUOTA_EXCEEDED', `All files together may take ${this.maxBytes} bytes: delete some first.`)
    }
    this.used += bytes
  }
}

export function put(parent: Directory, name: string, node: File | Directory): void {
  parent.children.set(name, node)
  parent.modifiedAt = new Date()
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
  return { kind: 'directory', id: newId(), modifiedAt: new Date(), children: new Map() }
}

export function newId(): string {
  return `memory:${randomUUID()}`
}

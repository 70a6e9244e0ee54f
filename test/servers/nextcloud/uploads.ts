/**
 * Uploads in chunks, by Nextcloud's manual ("Chunked file upload") and by apps/dav/lib/Upload: `ChunkingPlugin` and `FutureFile` join
 * chunks that are files, `ChunkingV2Plugin` those that are parts of an object in S3.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Node } from '../cloud/tree.ts'
import { DavError, failure, refused } from './errors.ts'
import { type Content, type Files, sizeOf } from './files.ts'

const minPart = 5 * 1024 * 1024

export interface UploadFolder {
  /** Chunks that are files, by name. */
  chunks: Map<string, Content>
  /** Chunks that are parts of an object. */
  session: { target: Node | undefined; parent: readonly string[]; parts: Map<number, Content> } | undefined
}

export class Uploads {
  readonly folders = new Map<string, UploadFolder>()
  /** Milliseconds that the server takes to join chunks. A proxy in front of it does not wait at all if this is not 0. */
  joinTime = 0
  /** An app, such as one that looks for viruses, refuses files once their chunks are joined. */
  refusesFiles = false
  readonly #files: Files
  readonly #hasObjectStore: boolean

  /** @param hasObjectStore files are in S3, and there is a distributed cache: only then version 2 is in use */
  constructor(files: Files, hasObjectStore: boolean) {
    this.#files = files
    this.#hasObjectStore = hasObjectStore
  }

  /** @throws NotFound */
  get(name: string): UploadFolder {
    const found = this.folders.get(name)
    if (!found) throw refused('NotFound', `File with name /${name} could not be located`)
    return found
  }

  make(name: string, destination: readonly string[] | undefined): void {
    if (this.folders.has(name)) throw refused('MethodNotAllowed', 'The resource you tried to create already exists')
    const folder: UploadFolder = { chunks: new Map(), session: undefined }
    if (this.#hasObjectStore && destination) {
      const found = this.#files.find(destination)
      const target = found?.children ? undefined : found
      folder.session = { target, parent: destination.slice(0, -1), parts: new Map() }
    }
    this.folders.set(name, folder)
  }

  /** Returns whether the chunk is a new one. */
  put(
    name: string,
    chunk: string,
    content: Content,
    { headers, destination }: { headers: IncomingHttpHeaders; destination: readonly string[] | undefined },
  ): { isNew: boolean } {
    const folder = this.folders.get(name)
    if (!folder) throw refused('Conflict', 'Files cannot be created in non-existent collections')
    const { session } = folder
    if (session && destination) {
      this.#putPart(session, chunk, content, headers)
      return { isNew: true }
    }
    if (chunk === '.file') throw refused('Forbidden', 'Permission denied to put into this file')
    const total = headers['oc-total-length']
    if (!this.#files.isOwnCloud && destination && total !== undefined) {
      if (!this.#files.find(destination)) this.#files.get(destination.slice(0, -1))
      this.#files.requireSpace(Number(total), destination.join('/'))
    }
    const isNew = !folder.chunks.has(chunk)
    folder.chunks.set(chunk, content)
    return { isNew }
  }

  #putPart(
    session: NonNullable<UploadFolder['session']>,
    chunk: string,
    content: Content,
    headers: IncomingHttpHeaders,
  ) {
    const number = /^\d+$/.test(chunk) ? Number(chunk) : -1
    if (number < 1 || number > 10_000) {
      throw refused('BadRequest', 'Invalid chunk name, must be numeric between 1 and 10000')
    }
    this.#files.get(session.parent)
    // S3 needs the length of each part.
    if (headers['content-length'] === undefined) throw failure('MissingContentLength')
    session.parts.set(number, content)
    // The size in the file cache grows with each chunk, also that of an existing file.
    if (session.target) session.target.size += sizeOf(content)
  }

  /** Joins the chunks to a file, and removes the folder. Returns whether the file is a new one. */
  async assemble(name: string, to: readonly string[], headers: IncomingHttpHeaders): Promise<{ isNew: boolean }> {
    if (this.joinTime === 0) return this.#assemble(name, to, headers)
    const join = () => this.#assemble(name, to, headers)
    sleep(this.joinTime)
      .then(join)
      .catch(() => {})
    throw new DavError(504, null, 'Gateway Timeout')
  }

  /** @throws NotFound */
  remove(name: string): void {
    this.get(name)
    this.folders.delete(name)
  }

  #assemble(name: string, to: readonly string[], headers: IncomingHttpHeaders): { isNew: boolean } {
    const { chunks, session } = this.get(name)
    if (this.refusesFiles) {
      this.folders.delete(name)
      throw refused('Forbidden', 'Virus detected')
    }
    const content = session ? this.#parts(session) : joined(chunks)
    this.#files.requireSpace(sizeOf(content), to.join('/'))
    const total = headers['oc-total-length']
    if (!session && total !== undefined && total !== String(sizeOf(content))) {
      const message = `Chunks on server do not sum up to ${total} but to ${sizeOf(content)} bytes`
      throw refused('BadRequest', message)
    }
    const { 'oc-checksum': _, ...others } = headers
    const stored = this.#files.write(to, content, session ? others : headers)
    this.folders.delete(name)
    return stored
  }

  #parts(session: NonNullable<UploadFolder['session']>): Content {
    const parts = [...session.parts].sort(([a], [b]) => a - b).map(([, part]) => part)
    const isTooSmall = parts.slice(0, -1).some(part => sizeOf(part) < minPart)
    if (parts.length === 0 || isTooSmall) {
      session.parts.clear()
      throw failure('Could not write chunked file')
    }
    return parts.flat()
  }
}

/** Sorts by names as `strnatcmp` does. */
function joined(chunks: ReadonlyMap<string, Content>): Content {
  return [...chunks].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).flatMap(([, content]) => content)
}

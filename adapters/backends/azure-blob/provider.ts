import type { Readable } from 'node:stream'
import { openObject, rangeHeader, sizeOf } from '../../bases/objects/read.ts'
import {
  type ByteRange,
  type Call,
  type Entry,
  type Host,
  type LinkHeaders,
  type ListPage,
  nameOf,
  type ReadResult,
  type ResumableWrites,
  StorageError,
  type StoragePath,
  type StorageProvider,
  type Traits,
  type Unfinished,
} from '../../contract.ts'
import type { AzureSettings } from './config.ts'
import { Container, defaultLimits, type Limits } from './container.ts'
import { describe, Keys, nameTraits } from './entry.ts'
import { alreadyExists, hasCode, notAFile, unreachable } from './errors.ts'
import { Folders, removeEntry, removeTree, type Tree } from './folders.ts'
import { probe } from './hierarchy.ts'
import { type BlobLink, serviceSas } from './http.ts'
import { listPage } from './list.ts'
import { resumableWrites } from './resumable.ts'
import { tokenSource } from './tokens.ts'
import { copyBlob, moveEntry } from './transfer.ts'
import { maxFileSize, writeBody } from './write.ts'

type Overwrite = { overwrite: boolean }

/** @throws INVALID_CONFIG; UNAVAILABLE during an outage */
export async function openProvider(
  settings: AzureSettings,
  host: Host,
  { authority, ...limits }: Partial<Limits> & { authority: string },
): Promise<AzureBlobProvider> {
  const own = { ...defaultLimits, ...limits }
  const token = tokenSource(settings, host, { authority, backoff: own.backoff })
  const container = new Container(settings, host, own, token)
  try {
    const { isHierarchical } = await probe(container, host.signal)
    return new AzureBlobProvider(container, host, isHierarchical)
  } catch (error) {
    container.close()
    throw error
  }
}

export class AzureBlobProvider implements StorageProvider {
  readonly traits: Traits = { emptyDirectories: true, maxFileSize, keepsModifiedAt: true, ...nameTraits }
  readonly resumable: ResumableWrites
  /** Undefined without a hierarchical namespace. */
  readonly move?: NonNullable<StorageProvider['move']>
  readonly #container: Container
  readonly #host: Host
  readonly #tree: Tree

  constructor(container: Container, host: Host, isHierarchical: boolean) {
    const keys = new Keys(container.settings.base, isHierarchical)
    const folders = new Folders(container, keys, isHierarchical)
    this.#container = container
    this.#host = host
    this.#tree = { container, keys, folders, isHierarchical }
    this.resumable = resumableWrites(container, keys, folders, this.#onUnfreed)
    if (isHierarchical) this.move = (from, to, options) => moveEntry(this.#tree, { from, to }, options)
  }

  async stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return await this.#tree.folders.stat(path, signal)
  }

  async list(
    path: StoragePath,
    { signal, cursor, limit }: Call & { cursor?: string; limit: number },
  ): Promise<ListPage> {
    const { keys, isHierarchical } = this.#tree
    const folder = { folderKey: keys.folder(path), isHierarchical }
    const { invalid, hidden, isMissing, ...page } = await listPage(this.#container, {
      ...folder,
      cursor,
      limit,
      signal,
    })
    // An empty folder has no blob below it.
    if (isMissing && path !== '' && (await this.stat(path, { signal })).kind === 'file') {
      throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path, not a folder.')
    }
    if (invalid.length > 0) {
      const details = { path, count: invalid.length, example: invalid[0] }
      this.#host.warn('A listing left out blobs whose names are not valid paths', details)
    }
    if (hidden.length > 0) {
      const details = { path, count: hidden.length, example: hidden[0] }
      this.#host.warn('A listing left out folders that have the same name as a file', details)
    }
    return page
  }

  async read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    signal.throwIfAborted()
    const { folders, keys } = this.#tree
    if (path === '') throw notAFile()
    const key = keys.blob(path)
    const get = async (part: ByteRange | undefined, etag: string | null | undefined, callSignal: AbortSignal) => {
      const headers = {
        ...(part && { range: rangeHeader(part) }),
        ...(typeof etag === 'string' && { 'if-match': `"${etag}"` }),
      }
      const stream = await this.#container.stream({ method: 'GET', key, headers }, callSignal)
      const { 'content-length': length, 'content-range': contentRange = '' } = stream.headers
      try {
        // The emulator responds to a range at the end with no bytes.
        if (part && length === '0') throw pastEnd()
        const size = sizeOf(part, length === undefined ? undefined : Number(length), contentRange)
        const md5 = part ? (stream.headers['x-ms-blob-content-md5']?.toString() ?? null) : undefined
        const blob = describe(stream.headers, size, md5)
        if (blob.isFolder) throw notAFile()
        return { stream, length: Number(length), etag: blob.etag, blob }
      } catch (error) {
        stream.destroy()
        throw error
      }
    }
    const { settings, limits } = this.#container
    const source = { get, idleTime: limits.idleTime, unreachable: (error: Error) => unreachable(error, settings) }
    const { opened, body } = await openObject(source, { range, ifMatch, signal }).catch(async error => {
      // The blob of a folder is empty, so a range of it does not exist.
      if (hasCode(error, 'RANGE_NOT_SATISFIABLE') && (await folders.stat(path, signal)).kind === 'directory') {
        throw notAFile()
      }
      if (hasCode(error, 'NOT_FOUND')) return await folders.refuseNoFile(path, signal)
      throw error
    })
    return { body, entry: folders.file(path, opened.blob) }
  }

  async write(
    path: StoragePath,
    body: Readable,
    options: Call & Overwrite & { size?: number; mimeType?: string; modifiedAt?: Date; unfinished?: Unfinished },
  ): Promise<Entry> {
    const { signal, size, mimeType, modifiedAt, overwrite, unfinished } = options
    const { folders, keys } = this.#tree
    try {
      signal.throwIfAborted()
      const destination = { key: keys.blob(path), name: nameOf(path), overwrite }
      await folders.refuseFolder(path, overwrite, signal)
      const file = { mimeType, modifiedAt }
      const onError = this.#onUnfreed
      const entry = await writeBody(this.#container, destination, body, {
        keys,
        size,
        file,
        unfinished,
        signal,
        onError,
      })
      folders.noteFile(path)
      return entry
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async delete(path: StoragePath, options: Call): Promise<void> {
    options.signal.throwIfAborted()
    if (await removeEntry(this.#tree, path, options)) await this.#keepParent(path)
  }

  async deleteTree(path: StoragePath, options: Call): Promise<void> {
    options.signal.throwIfAborted()
    if (await removeTree(this.#tree, path, options)) await this.#keepParent(path)
  }

  async mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    signal.throwIfAborted()
    await this.#tree.folders.make(path, { exclusive, signal })
  }

  async copy(from: StoragePath, to: StoragePath, { signal, overwrite }: Call & Overwrite): Promise<Entry> {
    signal.throwIfAborted()
    const { folders, keys } = this.#tree
    const key = keys.blob(from)
    const destination = { key: keys.blob(to), name: nameOf(to), overwrite }
    const [blob] = await Promise.all([
      this.#container.head(key, signal),
      from === to ? undefined : folders.refuseFolder(to, overwrite, signal),
    ])
    if (!blob || blob.isFolder) return await folders.refuseNoFile(from, signal)
    if (from === to) {
      if (!overwrite) throw alreadyExists()
      return folders.file(from, blob)
    }
    signal.throwIfAborted()
    const entry = await copyBlob(this.#container, { key, blob }, destination).catch(error => {
      if (!hasCode(error, 'PRECONDITION_FAILED')) throw error
      throw new StorageError('UNAVAILABLE', 'The file changed while it was copied: try again.', { cause: error })
    })
    folders.noteFile(to)
    return entry
  }

  async presign(
    path: StoragePath,
    { signal, ...options }: Call & LinkOptions & { responseHeaders?: LinkHeaders },
  ): Promise<{ url: URL; headers: Record<string, string> } | null> {
    signal.throwIfAborted()
    return linkTo(this.#container, this.#tree.keys.blob(path), options)
  }

  async close(): Promise<void> {
    this.#container.close()
  }

  async #keepParent(path: StoragePath): Promise<void> {
    try {
      await this.#tree.folders.keepParent(path)
    } catch (error) {
      // The deletion itself succeeded.
      this.#host.warn('The parent folder may have disappeared with its last entry', { path, error })
    }
  }

  readonly #onUnfreed = (error: unknown) => {
    this.#host.warn('The parts of an upload remain in the container after the file was stored', { error })
  }
}

function pastEnd(): StorageError {
  return new StorageError('RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.')
}

/** Seconds: a week. */
const maxExpiry = 7 * 24 * 3600

export interface LinkOptions {
  method: 'GET' | 'PUT'
  /** Seconds. */
  expiresIn: number
  responseHeaders?: LinkHeaders | undefined
}

/**
 * Signs a link. Sends no request. Returns null without an account key: a signature or a token
 * alone cannot sign a narrower link.
 *
 * A write link can be used for this one blob alone. Its holder can add `x-ms-copy-source`, and Azure then asks for a signature
 * of that source, too. Other servers, such as the emulator, may not, so they get no write links.
 */
export function linkTo(
  container: Container,
  key: string,
  { method, expiresIn, responseHeaders }: LinkOptions,
): { url: URL; headers: Record<string, string> } | null {
  const { credentials, account, container: name, endpoint, isAzure } = container.settings
  if (credentials.kind !== 'key' || (method === 'PUT' && !isAzure)) return null
  const link: BlobLink = {
    container: name,
    key,
    permissions: method === 'GET' ? 'r' : 'cw',
    expiresAt: new Date(container.clock() + Math.min(expiresIn, maxExpiry) * 1000),
    isSecure: endpoint.protocol === 'https:',
    headers: method === 'GET' ? responseHeaders : undefined,
  }
  const url = container.linkOf(key, serviceSas({ account, key: credentials.key }, link))
  return { url, headers: method === 'PUT' ? { 'x-ms-blob-type': 'BlockBlob' } : {} }
}

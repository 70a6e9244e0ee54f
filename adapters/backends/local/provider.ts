import type { BigIntStats } from 'node:fs'
import { type FileHandle, lstat, statfs } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { alreadyExists, intoItself, notAFolder, notFound, positionsOf } from '../../bases/errors.ts'
import {
  type ByteRange,
  type Call,
  type ChangesPage,
  type Entry,
  type Host,
  type ListPage,
  nameOf,
  type Quota,
  type ReadResult,
  type Replacing,
  type ResumableWrites,
  StorageError,
  type StoragePath,
  type StorageProvider,
  type Traits,
} from '../../contract.ts'
import { changesInterval } from './changes.ts'
import { hasErrno, toStorageError, withStorageErrors } from './errors.ts'
import { listPage, type NameLists, namesAtOnce } from './list.ts'
import { inside, requireName, requireSegments, self, splitPath, toEntry } from './names.ts'
import { makeDirectory, nameDirectly, type Root, withCreatedDirectory, withDirectory } from './open.ts'
import { partWrites } from './parts.ts'
import { keeperOf } from './preserve.ts'
import { BytesBody, FileBody, type OpenedFile, openFile, openNamed } from './read.ts'
import { removeEntry, removeTree } from './remove.ts'
import { resumableWrites } from './resumable.ts'
import type { SmallFiles } from './small-files/index.ts'
import { type SmallFile, smallBytes } from './small-files/jobs.ts'
import { sweepStaging, uniqueTime } from './staging.ts'
import { copyBytes, moveEntry } from './transfer.ts'
import type { WatchedRoot, Watcher } from './watcher.ts'
import { type Destination, store, takeWhole, writeAll, writeBody } from './write.ts'

type WriteOptions = Call & Replacing & { modifiedAt?: Date | undefined }

/** Listings between two questions for changes, which the host asks once a second. A catalogue that is filled lists many times as many. */
const busyListings = 100

/** The resources that all local providers of a process share, so that the bounds hold for the process. */
export interface SharedByProviders {
  lists: NameLists
  smallFiles: SmallFiles
  watcher: Watcher
}

/** Every call opens its path from the root again. Afterwards only the body or handle that it returns stays open. */
export class LocalProvider implements StorageProvider {
  readonly traits: Traits = {
    emptyDirectories: true,
    keepsModifiedAt: true,
    keepsReplaced: true,
    listOrder: 'names',
    changesInterval,
  }
  readonly resumable: ResumableWrites
  readonly #root: Root
  readonly #host: Host
  readonly #lists: NameLists
  readonly #smallFiles: SmallFiles
  readonly #watched: WatchedRoot
  /** The listings since the last question for changes. */
  #listings = 0
  readonly #closing = new AbortController()
  readonly #sweeping: Promise<void>

  constructor(root: Root, host: Host, { lists, smallFiles, watcher }: SharedByProviders) {
    this.#root = root
    this.#host = host
    this.#lists = lists
    this.#smallFiles = smallFiles
    this.#watched = watcher.watch(root, (message, details) => host.warn(message, details))
    this.resumable = { ...resumableWrites(root), parts: partWrites(root) }
    this.#sweeping = this.#sweep()
  }

  stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return withStorageErrors(async () => {
      if (path === '') return await this.#inDirectory([], signal, rootEntry)
      signal.throwIfAborted()
      const segments = requireSegments(path)
      return (
        (await this.#smallFiles.stat(this.#root, segments, signal)) ?? (await this.#inParent(path, signal, entryAt))
      )
    })
  }

  list(
    path: StoragePath,
    { signal, cursor, from, limit }: Call & { cursor?: string; from?: string; limit: number },
  ): Promise<ListPage> {
    const onInvalidNames = (names: readonly Buffer[]) => {
      const example = names[0]?.toString('latin1')
      this.#host.warn('A listing left out names that are not UTF-8', { path, count: names.length, example })
    }
    this.#listings += 1
    return withStorageErrors(async () => {
      try {
        const segments = requireSegments(path)
        const isWhole = cursor === undefined && from === undefined && segments.length > 0
        const most = Math.min(limit, namesAtOnce)
        const entries = isWhole ? await this.#smallFiles.list(this.#root, segments, most, signal) : null
        if (entries) return { entries }
        const selection = { cursor, from, limit, signal, lists: this.#lists, onInvalidNames }
        return await this.#inDirectory(segments, signal, directory => {
          const stats = (names: readonly string[]) => this.#smallFiles.stats(this.#root, directory, names, signal)
          return listPage(directory, { ...selection, stats })
        })
      } catch (error) {
        if (!(error instanceof StorageError && hasErrno(error.cause, 'ENOTDIR'))) throw error
        // `stat` rejects for a missing path or a link. Otherwise the path is a file.
        await this.stat(path, { signal })
        throw notAFolder(error)
      }
    })
  }

  openFile(path: StoragePath, { signal, ifMatch }: Call & { ifMatch?: string }): Promise<OpenedFile> {
    return withStorageErrors(() => this.#open(path, signal, ifMatch))
  }

  read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    return withStorageErrors(async () => {
      const smallFile = await this.#readSmall(path, signal)
      if (smallFile && (ifMatch === undefined || smallFile.entry.etag === ifMatch)) {
        const { start, end } = positionsOf(smallFile.bytes.length, range)
        return { body: new BytesBody(smallFile.bytes.subarray(start, end), signal), entry: smallFile.entry }
      }
      const { handle, entry } = await this.#open(path, signal, ifMatch)
      try {
        return { body: new FileBody(handle, positionsOf(entry.size ?? 0, range), signal), entry }
      } catch (error) {
        await handle.close()
        throw error
      }
    })
  }

  readSmall(path: StoragePath, { signal, maxBytes }: Call & { maxBytes: number }): Promise<SmallFile | null> {
    return withStorageErrors(() => this.#readSmall(path, signal, maxBytes))
  }

  async write(
    path: StoragePath,
    body: Readable,
    options: WriteOptions & { size?: number; mimeType?: string },
  ): Promise<Entry> {
    const { size = Number.POSITIVE_INFINITY, signal } = options
    try {
      const destination = this.#destination(path, options)
      const content = size > smallBytes ? body : await takeWhole(body, size, signal)
      const stored =
        content instanceof Readable ? null : await this.#smallFiles.write(withoutKeeping(destination), content)
      if (stored) return stored
      return await store(destination, handle =>
        content instanceof Readable ? writeBody(handle, content, signal) : writeAll(handle, [content], 0),
      )
    } catch (error) {
      body.destroy()
      // Return an error of the body unchanged, even one that looks like an error of the disk.
      throw error === body.errored ? error : toStorageError(error)
    }
  }

  copy(from: StoragePath, to: StoragePath, options: Call & Replacing & { entry?: Entry }): Promise<Entry> {
    const { signal, entry: known } = options
    return withStorageErrors(async () => {
      const destination = this.#destination(to, options)
      const isSmall = (known?.size ?? 0) <= smallBytes
      const copied = isSmall ? await this.#smallFiles.copy(requireSegments(from), withoutKeeping(destination)) : null
      if (copied) return copied
      const { handle, entry } = await this.#open(from, signal)
      try {
        const { size, modifiedAt } = entry
        return await store({ ...destination, modifiedAt: modifiedAt ?? undefined }, target =>
          copyBytes(handle, size ?? 0, target, signal),
        )
      } finally {
        await handle.close()
      }
    })
  }

  copySmall(from: StoragePath, to: StoragePath, names: readonly string[], { signal }: Call): Promise<(Entry | null)[]> {
    return withStorageErrors(async () => {
      signal.throwIfAborted()
      for (const name of names) requireName(name)
      const folders = { from: requireSegments(from), to: requireSegments(to) }
      return await this.#smallFiles.copyAll(this.#root, folders, names, signal)
    })
  }

  move(from: StoragePath, to: StoragePath, options: Call & Replacing): Promise<Entry> {
    const { signal, overwrite } = options
    return withStorageErrors(async () => {
      const how = { overwrite, keep: keeperOf(this.#root, options) }
      const destination = splitPath(to)
      if (to.startsWith(`${from}/`)) throw intoItself()
      return await this.#inParent(from, signal, async (parent, name) => {
        const entry = await entryAt(parent, name)
        if (to === from && overwrite) return entry
        return await withCreatedDirectory(this.#root, destination.parents, signal, async newParent => {
          signal.throwIfAborted()
          return await moveEntry({ parent, name }, { parent: newParent, name: destination.name }, how)
        })
      })
    })
  }

  mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    const make = (name: string) => async (parent: FileHandle) => {
      if (await makeDirectory(parent, name)) return
      if (!exclusive && (await lstat(inside(parent, name))).isDirectory()) return
      throw alreadyExists()
    }
    return withStorageErrors(async () => {
      signal.throwIfAborted()
      if (path === '' && !exclusive) return
      if (path === '') throw alreadyExists()
      const { parents, name } = splitPath(path)
      await withCreatedDirectory(this.#root, parents, signal, make(name))
    })
  }

  delete(path: StoragePath, { signal }: Call): Promise<void> {
    return withStorageErrors(() => this.#inParent(path, signal, removeEntry).catch(resolveMissing))
  }

  deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    const remove = (parent: FileHandle, name: string) => removeTree(parent, name, signal)
    return withStorageErrors(() => this.#inParent(path, signal, remove).catch(resolveMissing))
  }

  quota({ signal }: Call): Promise<Quota> {
    return withStorageErrors(() =>
      this.#inDirectory([], signal, async directory => {
        const { bsize, blocks, bfree, bavail } = await statfs(self(directory))
        // Like df(1), count blocks reserved for the superuser neither as used nor as available.
        return { used: (blocks - bfree) * bsize, total: (blocks - bfree + bavail) * bsize }
      }),
    )
  }

  /** By its path, because devices have other numbers after a restart. */
  async rootId(): Promise<string> {
    return `local:${this.#root.path === '/' ? '' : this.#root.path}`
  }

  changes(cursor: string | null, call: Call): Promise<ChangesPage | null> {
    // A catalogue that begins is about to list everything.
    const isBusy = cursor === null || this.#listings > busyListings
    this.#listings = 0
    return this.#watched.changes(cursor, { ...call, isBusy })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#watched.close()
    await this.#sweeping
  }

  async #sweep(): Promise<void> {
    const { signal } = this.#closing
    try {
      const removed = await this.#inDirectory([], signal, directory => sweepStaging(directory, signal))
      if (removed > 0) this.#host.warn('Removed unfinished uploads that a killed server left', { removed })
    } catch (error) {
      if (!signal.aborted) this.#host.warn('Cannot remove unfinished uploads that a killed server left', { error })
    }
  }

  #inDirectory<T>(segments: string[], signal: AbortSignal, use: (directory: FileHandle) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    return withDirectory(this.#root, segments, signal, use)
  }

  #inParent<T>(
    path: StoragePath,
    signal: AbortSignal,
    use: (parent: FileHandle, name: string) => Promise<T>,
  ): Promise<T> {
    const { parents, name } = splitPath(path)
    return this.#inDirectory(parents, signal, parent => use(parent, name))
  }

  async #open(path: StoragePath, signal: AbortSignal, ifMatch?: string) {
    if (path === '') throw new StorageError('NOT_A_FILE', 'The root is a folder, not a file.')
    signal.throwIfAborted()
    const named = await nameDirectly(this.#root, requireSegments(path))
    if (named) return await openNamed(named, nameOf(path), ifMatch)
    return await this.#inParent(path, signal, (parent, name) => openFile(parent, name, ifMatch))
  }

  setModifiedAt(path: StoragePath, modifiedAt: Date, { signal }: Call): Promise<void> {
    return withStorageErrors(async () => {
      const set = (handle: FileHandle) => handle.utimes(uniqueTime(), uniqueTime(modifiedAt))
      const { kind } = await this.stat(path, { signal })
      if (kind === 'directory') return await this.#inDirectory(requireSegments(path), signal, set)
      const { handle } = await this.#open(path, signal)
      try {
        await set(handle)
      } finally {
        await handle.close()
      }
    })
  }

  async #readSmall(path: StoragePath, signal: AbortSignal, maxBytes = smallBytes): Promise<SmallFile | null> {
    signal.throwIfAborted()
    return await this.#smallFiles.read(this.#root, requireSegments(path), { maxBytes, signal })
  }

  #destination(path: StoragePath, options: WriteOptions): Destination {
    const { signal, overwrite, modifiedAt } = options
    signal.throwIfAborted()
    return {
      root: this.#root,
      ...splitPath(path),
      overwrite,
      keep: keeperOf(this.#root, options),
      modifiedAt,
      signal,
    }
  }
}

/** Small files are written in a fast way that cannot keep what it replaces. Where that is kept, it writes new files only. */
function withoutKeeping(destination: Destination): Destination {
  return destination.keep ? { ...destination, overwrite: false } : destination
}

async function entryAt(parent: FileHandle, name: string): Promise<Entry> {
  return presentEntry(name, await lstat(inside(parent, name), { bigint: true }))
}

/** @throws NOT_FOUND for links, FIFOs, sockets and devices */
function presentEntry(name: string, stats: BigIntStats): Entry {
  const entry = toEntry(name, stats)
  if (!entry) throw notFound()
  return entry
}

async function rootEntry(directory: FileHandle): Promise<Entry> {
  return presentEntry('', await directory.stat({ bigint: true }))
}

function resolveMissing(error: unknown): void {
  if (!hasErrno(error, 'ENOENT', 'NOT_FOUND')) throw error
}

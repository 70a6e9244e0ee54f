import type { Readable } from 'node:stream'
import { alreadyExists, notADirectory, notAFile, notFound, rootIsFixed } from '../../bases/cloud/failure.ts'
import { withStorageErrors } from '../../bases/cloud/http.ts'
import {
  type ByteRange,
  type Call,
  type Entry,
  type ListPage,
  nameOf,
  parentOf,
  type Quota,
  type ReadResult,
  StorageError,
  type StoragePath,
  type StorageProvider,
} from '../../contract.ts'
import { isFolder, isShown, nameTraits, toEntry } from './entry.ts'
import { isRefused, isTaken, onedrive } from './errors.ts'
import { type DriveItems, makeFolders } from './items.ts'
import { readFile } from './read.ts'
import { copyFile, moveEntry } from './transfer.ts'
import { maxFileSize } from './upload.ts'
import { Write } from './write.ts'

/** Attempts to delete an entry that changes meanwhile. */
const deleteAttempts = 3

export class OneDriveProvider implements StorageProvider {
  readonly traits = { emptyDirectories: true, maxFileSize, keepsModifiedAt: true, ...nameTraits } as const
  readonly #items: DriveItems
  readonly #copyInterval: number

  constructor(items: DriveItems, copyInterval: number) {
    this.#items = items
    this.#copyInterval = copyInterval
  }

  stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return withStorageErrors(onedrive, signal, async () => {
      const item = await this.#items.find(path, signal)
      if (!item) throw notFound()
      return toEntry(nameOf(path), item)
    })
  }

  list(path: StoragePath, { signal, cursor, limit }: Call & { cursor?: string; limit: number }): Promise<ListPage> {
    return withStorageErrors(onedrive, signal, () => listPage(this.#items, path, { cursor, limit, signal }))
  }

  read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    return withStorageErrors(onedrive, signal, () => readFile(this.#items, path, { range, ifMatch, signal }))
  }

  write(
    path: StoragePath,
    body: Readable,
    { signal, size, modifiedAt, overwrite }: Call & { size?: number; modifiedAt?: Date; overwrite: boolean },
  ): Promise<Entry> {
    return withStorageErrors(onedrive, signal, async () => {
      if (path === '') {
        body.destroy()
        throw overwrite ? notAFile() : alreadyExists()
      }
      const stored = await new Write(this.#items, { path, size, modifiedAt, overwrite, signal }).run(body)
      return toEntry(nameOf(path), stored)
    })
  }

  delete(path: StoragePath, { signal }: Call): Promise<void> {
    return withStorageErrors(onedrive, signal, async () => {
      if (path === '') throw rootIsFixed()
      for (let attempt = 0; attempt < deleteAttempts; attempt += 1) {
        const item = await this.#items.find(path, signal)
        if (!item) return
        if (isFolder(item) && !(await this.#items.isEmpty(path, signal))) {
          throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
        }
        if (await this.#items.remove(item, signal)) return
      }
      throw new StorageError('UNAVAILABLE', 'The entry was changed at the same moment: try again.')
    })
  }

  deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    return withStorageErrors(onedrive, signal, async () => {
      if (path === '') throw rootIsFixed()
      const item = await this.#items.find(path, signal)
      if (item) await this.#items.remove({ id: item.id, name: item.name }, signal)
    })
  }

  mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    return withStorageErrors(onedrive, signal, async () => {
      if (path === '') {
        if (exclusive) throw alreadyExists()
        return
      }
      // Refuses a path that is too long for OneDrive. The request that makes a folder has only the address of its parent.
      this.#items.addressOf(path)
      const parent = await makeFolders(this.#items, parentOf(path), signal)
      try {
        await this.#items.makeFolder(parentOf(path), nameOf(path), signal)
      } catch (error) {
        const existing = isTaken(error) && !exclusive ? await this.#items.look(path, signal) : undefined
        if (existing && isFolder(existing)) return
        await parent.undo()
        throw error
      }
    })
  }

  copy(from: StoragePath, to: StoragePath, { signal, overwrite }: Call & { overwrite: boolean }): Promise<Entry> {
    return withStorageErrors(onedrive, signal, async () => {
      if (from === '') throw notAFile()
      if (to === '') throw overwrite ? notAFile() : alreadyExists()
      return await copyFile(this.#items, { from, to, overwrite, signal }, this.#copyInterval)
    })
  }

  move(from: StoragePath, to: StoragePath, { signal, overwrite }: Call & { overwrite: boolean }): Promise<Entry> {
    return withStorageErrors(onedrive, signal, async () => {
      if (from === '' || to === '') throw rootIsFixed()
      return await moveEntry(this.#items, { from, to, overwrite, signal })
    })
  }

  quota({ signal }: Call): Promise<Quota> {
    return withStorageErrors(onedrive, signal, () => this.#items.quota(signal))
  }
}

/** Returns one page of a folder, without shortcuts and notebooks. */
async function listPage(
  items: DriveItems,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const page = await items.children(path, limit, cursor, signal).catch(async error => {
    // Refuses a file in the same way as a missing folder.
    if (cursor === undefined && isRefused(error, 400, 404)) await requireFolder(items, path, signal)
    throw error
  })
  if (cursor === undefined && page.items.length === 0) await requireFolder(items, path, signal)
  const entries = page.items.filter(isShown).map(item => toEntry(item.name, item))
  return page.token === undefined ? { entries } : { entries, cursor: page.token }
}

/** @throws NOT_FOUND, NOT_A_DIRECTORY */
async function requireFolder(items: DriveItems, path: StoragePath, signal: AbortSignal): Promise<void> {
  const item = await items.find(path, signal)
  if (!item) throw notFound()
  if (!isFolder(item)) throw notADirectory()
}

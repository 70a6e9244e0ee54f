import type { Readable } from 'node:stream'
import { alreadyExists, notAFile, notFound, rootIsFixed } from '../../bases/cloud/failure.ts'
import { RequestFailure, withStorageErrors } from '../../bases/cloud/http.ts'
import { isSameName } from '../../bases/cloud/names.ts'
import {
  type ByteRange,
  type Call,
  childOf,
  type Entry,
  type ListPage,
  nameOf,
  type Quota,
  type ReadResult,
  type ResumableWrites,
  StorageError,
  type StoragePath,
  type StorageProvider,
} from '../../contract.ts'
import { type FolderMetadata, isFolder } from './api.ts'
import { toEntry } from './entry.ts'
import { dropbox, isRefusedFor } from './errors.ts'
import { type DropboxFiles, means } from './files.ts'
import { listPage } from './list.ts'
import { badName, nameTraits } from './names.ts'
import { readFile } from './read.ts'
import { resumableWrites } from './resumable.ts'
import { copyFile, moveEntry } from './transfer.ts'
import { maxFileSize } from './upload.ts'
import { Write } from './write.ts'

/** The number of entries that are deleted at once where Dropbox cannot delete a folder in one step. */
const deletedAtOnce = 8

export class DropboxProvider implements StorageProvider {
  readonly traits = { emptyDirectories: true, maxFileSize, keepsModifiedAt: true, ...nameTraits } as const
  readonly resumable: ResumableWrites
  readonly #files: DropboxFiles

  constructor(files: DropboxFiles) {
    this.#files = files
    this.resumable = resumableWrites(files)
  }

  stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return withStorageErrors(dropbox, signal, async () => {
      const entry = await this.#files.entry(path, signal)
      if (!entry) throw notFound()
      return entry
    })
  }

  list(path: StoragePath, { signal, cursor, limit }: Call & { cursor?: string; limit: number }): Promise<ListPage> {
    return withStorageErrors(dropbox, signal, () => listPage(this.#files, path, { cursor, limit, signal }))
  }

  read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    return withStorageErrors(dropbox, signal, async () => {
      if (path === '') throw notAFile()
      return await readFile(this.#files, path, { range, ifMatch, signal })
    })
  }

  write(
    path: StoragePath,
    body: Readable,
    { signal, size, modifiedAt, overwrite }: Call & { size?: number; modifiedAt?: Date; overwrite: boolean },
  ): Promise<Entry> {
    return withStorageErrors(dropbox, signal, async () => {
      if (path === '') {
        body.destroy()
        throw overwrite ? notAFile() : alreadyExists()
      }
      const stored = await new Write(this.#files, { path, size, modifiedAt, overwrite, signal }).run(body)
      return toEntry(nameOf(path), stored)
    })
  }

  delete(path: StoragePath, { signal, entry }: Call & { entry?: Entry }): Promise<void> {
    return withStorageErrors(dropbox, signal, async () => {
      if (path === '') throw rootIsFixed()
      if (entry?.kind === 'file' && entry.etag !== null) {
        try {
          return await this.#files.remove(path, entry.etag, signal)
        } catch (error) {
          // The path has another version of the file, or a folder, by now.
          if (!(error instanceof RequestFailure && error.failure.status === 409)) throw error
        }
      }
      const found = await this.#files.find(path, signal)
      if (!found) return
      if (isFolder(found) && !(await this.#files.isEmpty(path, signal))) {
        throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
      }
      // The revision ensures that a folder which has replaced the file is not deleted with its content.
      await this.#files.remove(path, isFolder(found) ? undefined : found.rev, signal)
    })
  }

  deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    return withStorageErrors(dropbox, signal, async () => {
      if (path === '') throw rootIsFixed()
      await this.#removeTree(path, signal)
    })
  }

  mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    return withStorageErrors(dropbox, signal, async () => {
      if (path === '') {
        if (exclusive) throw alreadyExists()
        return
      }
      const options = { signal, repeatable: !exclusive, isCommit: true }
      try {
        const args = { path: this.#files.pathOf(path) }
        const made = await this.#files.api.call<{ metadata: FolderMetadata }>('files/create_folder_v2', args, options)
        if (isSameName(made.metadata.name, nameOf(path))) return
        await this.#files.discard({ ...made.metadata, '.tag': 'folder' })
        throw badName()
      } catch (error) {
        const isThere = error instanceof RequestFailure && isRefusedFor(error.failure, 'conflict/folder')
        if (exclusive || !isThere) throw error
      }
    })
  }

  copy(
    from: StoragePath,
    to: StoragePath,
    { signal, overwrite, entry }: Call & { overwrite: boolean; entry?: Entry },
  ): Promise<Entry> {
    return withStorageErrors(dropbox, signal, async () => {
      if (from === '') throw notAFile()
      if (to === '') throw overwrite ? notAFile() : alreadyExists()
      return await copyFile(this.#files, { from, to, overwrite, entry, signal })
    })
  }

  move(
    from: StoragePath,
    to: StoragePath,
    { signal, overwrite, entry }: Call & { overwrite: boolean; entry?: Entry },
  ): Promise<Entry> {
    return withStorageErrors(dropbox, signal, async () => {
      if (from === '' || to === '') throw rootIsFixed()
      return await moveEntry(this.#files, { from, to, overwrite, entry, signal })
    })
  }

  quota({ signal }: Call): Promise<Quota> {
    return withStorageErrors(dropbox, signal, () => this.#files.quota(signal))
  }

  /** Deletes a folder in one step, or its entries first where it has too many. */
  async #removeTree(path: StoragePath, signal: AbortSignal): Promise<void> {
    try {
      return await this.#files.remove(path, undefined, signal)
    } catch (error) {
      if (!(error instanceof RequestFailure && isRefusedFor(error.failure, 'too_many_files'))) throw error
    }
    for (;;) {
      const { entries } = await listPage(this.#files, path, { cursor: undefined, limit: 1000, signal }).catch(error => {
        if (means(error, 'NOT_FOUND')) return { entries: [] }
        throw error
      })
      if (entries.length === 0) return await this.#files.remove(path, undefined, signal)
      const names = entries.values()
      const worker = async () => {
        // All workers share one iterator, so each entry is taken once.
        for (const { name } of names) await this.#removeTree(childOf(path, name), signal)
      }
      await Promise.all(Array.from({ length: deletedAtOnce }, worker))
    }
  }
}

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
import { badName, nameTraits, toEntry } from './entry.ts'
import { dropbox, isRefusedFor } from './errors.ts'
import { type DropboxFiles, isPresent, means } from './files.ts'
import { readFile } from './read.ts'
import { resumableWrites } from './resumable.ts'
import { copyFile, moveEntry } from './transfer.ts'
import { maxFileSize, Write } from './write.ts'

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

/** A place in a listing: the page that `from` returns, without its first entries. */
interface Position {
  /** Dropbox's cursor; the empty string for the first page. */
  from: string
  /** The number of entries of that page that were returned before. */
  skip: number
  /** The id of the first entry that was not. */
  nextId: string
}

/**
 * Returns one page of a folder, of one or several pages of Dropbox, whose size the first request decides. Dropbox may return
 * some more entries than requested. The rest of such a page is returned by the next call, which requests the same page again.
 */
async function listPage(
  files: DropboxFiles,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const entries: Entry[] = []
  let position = cursor === undefined ? start : parse(cursor)
  for (;;) {
    const { from, skip, nextId } = position
    const page = from === '' ? await files.list(path, limit, signal) : await files.listMore(from, signal)
    const found = [...new Map(page.entries.filter(isPresent).map(entry => [entry.id, entry])).values()]
    const index = found.findIndex(({ id }) => id === nextId)
    // Entries that were deleted since are missing from the page. If the next one is, the others moved up.
    const begin = index >= 0 ? index : Math.min(skip, found.length)
    const end = Math.min(found.length, begin + limit - entries.length)
    entries.push(...found.slice(begin, end).map(entry => toEntry(entry.name, entry)))
    const next = found[end]
    if (next) return { entries, cursor: format({ from, skip: end, nextId: next.id }) }
    if (!page.has_more) return { entries }
    position = { from: page.cursor, skip: 0, nextId: '' }
    if (entries.length >= limit) return { entries, cursor: format(position) }
  }
}

const start: Position = { from: '', skip: 0, nextId: '' }

function format({ from, skip, nextId }: Position): string {
  return `${skip}.${nextId}.${from}`
}

function parse(cursor: string): Position {
  const [skip = '', nextId = ''] = cursor.split('.', 2)
  return { skip: Number(skip), nextId, from: cursor.slice(skip.length + nextId.length + 2) }
}

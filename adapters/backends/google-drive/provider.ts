import type { Readable } from 'node:stream'
import { alreadyExists, hasCode, notADirectory, notAFile, notFound, rootIsFixed } from '../../bases/cloud/failure.ts'
import { withStorageErrors } from '../../bases/cloud/http.ts'
import {
  type ByteRange,
  type Call,
  type Entry,
  type Host,
  type ListPage,
  type NativeTrash,
  nameOf,
  type Quota,
  type ReadResult,
  type ResumableWrites,
  StorageError,
  type StoragePath,
  type StorageProvider,
  segmentsOf,
} from '../../contract.ts'
import type { Tree } from './destination.ts'
import { toEntry } from './entry.ts'
import { google } from './errors.ts'
import type { DriveFiles } from './files.ts'
import { Folders, Locks } from './folders.ts'
import { PathIds } from './ids.ts'
import { listPage } from './list.ts'
import type { DriveFile } from './names.ts'
import { isFolder } from './names.ts'
import { readFile } from './read.ts'
import { resumableWrites } from './resumable.ts'
import { copyFile, driveTrash, moveEntry } from './transfer.ts'
import { Write } from './write.ts'

/** The maximum size of a file in bytes: 5 TB (support.google.com/drive/answer/37603). */
const maxFileSize = 5 * 1024 ** 4

export class GoogleDriveProvider implements StorageProvider {
  readonly traits = {
    emptyDirectories: true,
    maxFileSize,
    storedChecksum: 'sha256',
    keepsModifiedAt: true,
  } as const
  readonly resumable: ResumableWrites
  readonly trash: NativeTrash
  readonly #tree: Tree
  readonly #host: Host

  /** @param trust milliseconds for which a cached folder id is used without looking it up again */
  constructor(files: DriveFiles, host: Host, trust: number) {
    const ids = new PathIds(files, trust)
    const locks = new Locks()
    this.#tree = { files, ids, locks, folders: new Folders(files, ids, locks) }
    this.resumable = resumableWrites(this.#tree)
    this.trash = driveTrash(this.#tree)
    this.#host = host
  }

  stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return withStorageErrors(google, signal, async () => {
      if (path === '') return toEntry('', await this.#tree.files.rootFile(signal))
      return toEntry(nameOf(path), await this.#find(path, signal))
    })
  }

  list(path: StoragePath, { signal, cursor, limit }: Call & { cursor?: string; limit: number }): Promise<ListPage> {
    return withStorageErrors(google, signal, async () => {
      const segments = segmentsOf(path)
      const onInvalidNames = (ids: readonly string[]) =>
        this.#host.warn('A listing left out files whose names are not valid in a path', {
          path,
          ids: ids.slice(0, 10),
        })
      const selection = { cursor, limit, signal, onInvalidNames }
      const { files, ids } = this.#tree
      const trusted = await ids.trustedFolder(segments, signal)
      if (trusted !== undefined) {
        try {
          return await listPage(files, trusted, selection)
        } catch (error) {
          // The cached folder is missing. Another folder may have its name now.
          if (path === '' || !hasCode(error, 'NOT_FOUND')) throw error
        }
      }
      const found = await ids.find(segments, signal, trusted === undefined ? 'trusted' : 'verified')
      if (!found) throw notFound()
      if (!isFolder(found.file)) throw notADirectory()
      return await listPage(files, found.file.id, selection)
    })
  }

  read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    return withStorageErrors(google, signal, async () => {
      if (path === '') throw notAFile()
      const file = await this.#find(path, signal)
      if (isFolder(file)) throw notAFile()
      return await readFile(this.#tree.files, file, { name: nameOf(path), range, ifMatch, signal })
    })
  }

  write(
    path: StoragePath,
    body: Readable,
    {
      signal,
      size,
      mimeType,
      modifiedAt,
      overwrite,
    }: Call & { size?: number; mimeType?: string; modifiedAt?: Date; overwrite: boolean },
  ): Promise<Entry> {
    return withStorageErrors(google, signal, async () => {
      if (path === '') {
        body.destroy()
        throw overwrite ? notAFile() : alreadyExists()
      }
      const write = new Write(this.#tree, segmentsOf(path), { size, mimeType, modifiedAt, overwrite, signal })
      return toEntry(nameOf(path), await write.run(body))
    })
  }

  delete(path: StoragePath, { signal }: Call): Promise<void> {
    return withStorageErrors(google, signal, async () => {
      await this.#trash(path, signal, async file => {
        if (!isFolder(file) || (await this.#tree.files.isEmpty(file.id, signal))) return
        const shown = await listPage(this.#tree.files, file.id, {
          cursor: undefined,
          limit: 1,
          signal,
          onInvalidNames: () => {},
        })
        const hidden = shown.entries.length === 0 && shown.cursor === undefined
        const message = hidden
          ? 'The folder contains shortcuts, which listings leave out: delete it with its content.'
          : 'The folder is not empty.'
        throw new StorageError('NOT_EMPTY', message)
      })
    })
  }

  deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    return withStorageErrors(google, signal, () => this.#trash(path, signal, async () => {}))
  }

  mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    return withStorageErrors(google, signal, async () => {
      const segments = segmentsOf(path)
      if (segments.length === 0) {
        if (exclusive) throw alreadyExists()
        return
      }
      const found = await this.#tree.ids.find(segments, signal, 'verified')
      if (found && (exclusive || !isFolder(found.file))) throw alreadyExists()
      if (found) return
      const hold = await this.#tree.folders.hold(exclusive ? segments.slice(0, -1) : segments, signal)
      try {
        if (exclusive) await this.#tree.folders.makeExclusive(hold.id, nameOf(path), signal)
      } catch (error) {
        await hold.undo()
        throw error
      } finally {
        hold.release()
      }
    })
  }

  copy(from: StoragePath, to: StoragePath, { signal, overwrite }: Call & { overwrite: boolean }): Promise<Entry> {
    return withStorageErrors(google, signal, async () => {
      if (from === '') throw notAFile()
      if (to === '') throw overwrite ? notAFile() : alreadyExists()
      const transfer = { from: segmentsOf(from), to: segmentsOf(to), overwrite, signal }
      return toEntry(nameOf(to), await copyFile(this.#tree, transfer))
    })
  }

  move(from: StoragePath, to: StoragePath, { signal, overwrite }: Call & { overwrite: boolean }): Promise<Entry> {
    return withStorageErrors(google, signal, async () => {
      if (from === '' || to === '') throw rootIsFixed()
      if (to.startsWith(`${from}/`)) throw new StorageError('INVALID_PATH', 'A folder cannot be moved into itself.')
      const transfer = { from: segmentsOf(from), to: segmentsOf(to), overwrite, signal }
      return toEntry(nameOf(to), await moveEntry(this.#tree, transfer))
    })
  }

  quota({ signal }: Call): Promise<Quota> {
    return withStorageErrors(google, signal, () => this.#tree.files.quota(signal))
  }

  async #find(path: StoragePath, signal: AbortSignal): Promise<DriveFile> {
    const found = await this.#tree.ids.find(segmentsOf(path), signal, 'trusted')
    if (!found) throw notFound()
    return found.file
  }

  async #trash(path: StoragePath, signal: AbortSignal, check: (file: DriveFile) => Promise<void>): Promise<void> {
    if (path === '') throw rootIsFixed()
    const found = await this.#tree.ids.find(segmentsOf(path), signal, 'verified')
    if (!found) return
    await check(found.file)
    await this.#tree.files.trash(found.file.id, signal)
    if (isFolder(found.file)) this.#tree.ids.forget(segmentsOf(path))
  }
}

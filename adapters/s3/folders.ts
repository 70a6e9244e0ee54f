import { ancestorsOf, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../contract.ts'
import { type Bucket, isPrecondition } from './bucket.ts'
import { fileEntry, folderEntry } from './entry.ts'
import type { Keys } from './keys.ts'
import type { Conditions } from './probe.ts'

/** Milliseconds that a parent which was no file is taken for none again: many files go into one folder at a time. */
const memory = 5_000
const maxRemembered = 1000

/** A folder is a prefix that some key begins with, be it only the folder's own marker: an empty object, `<folder>/`. */
export class Folders {
  readonly #bucket: Bucket
  readonly #keys: Keys
  readonly #noFiles = new Map<StoragePath, number>()

  constructor(bucket: Bucket, keys: Keys) {
    this.#bucket = bucket
    this.#keys = keys
  }

  /** Returns true where any key lies below, including the marker. */
  async exists(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    return (await this.#bucket.keys(this.#keys.folder(path), 1, signal)).length > 0
  }

  /** @throws NOT_FOUND */
  async stat(path: StoragePath, signal: AbortSignal): Promise<Entry> {
    const exists = await this.exists(path, signal)
    if (path !== '' && !exists) throw notFound()
    return folderEntry(nameOf(path), this.#bucket.fileId(this.#keys.folder(path)))
  }

  async statFile(path: StoragePath, signal?: AbortSignal): Promise<Entry | undefined> {
    if (path === '') return undefined
    const key = this.#keys.file(path)
    const head = await this.#bucket.head(key, signal)
    return head && fileEntry(nameOf(path), this.#bucket.fileId(key), head.ContentLength ?? 0, head)
  }

  /** @throws the error that says why there is no file */
  async refuseNoFile(path: StoragePath, signal: AbortSignal): Promise<never> {
    if (path === '' || (await this.exists(path, signal))) {
      throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    }
    throw notFound()
  }

  /**
   * For what is about to make a file: one HEAD for each parent that was not met lately, and one listing. Whether there is a
   * file already is for the step that makes the new one.
   */
  async refuseFolder(path: StoragePath, overwrite: boolean, signal: AbortSignal): Promise<void> {
    const [, isFolder] = await Promise.all([this.refuseFilesAbove(path, signal), this.exists(path, signal)])
    if (!isFolder) return
    if (!overwrite) throw taken()
    if (!(await this.statFile(path, signal))) throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
  }

  /** @throws NOT_A_DIRECTORY */
  async refuseFilesAbove(path: StoragePath, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const unknown = ancestorsOf(path)
      .slice(1)
      .filter(parent => (this.#noFiles.get(parent) ?? 0) < now)
    const heads = await Promise.all(unknown.map(parent => this.#bucket.head(this.#keys.file(parent), signal)))
    const blocking = unknown.find((_, i) => heads[i] !== undefined)
    if (blocking !== undefined) {
      throw new StorageError('NOT_A_DIRECTORY', `There is a file named "${nameOf(blocking)}" where a folder is wanted.`)
    }
    if (this.#noFiles.size > maxRemembered) this.#noFiles.clear()
    for (const parent of unknown) this.#noFiles.set(parent, now + memory)
  }

  /** Call this after creating a file. */
  noteFile(path: StoragePath): void {
    this.#noFiles.delete(path)
  }

  async make(
    path: StoragePath,
    { exclusive, conditions, signal }: { exclusive: boolean; conditions: Conditions; signal: AbortSignal },
  ): Promise<void> {
    if (path === '' && exclusive) throw taken()
    if (path === '') return
    const [, file, exists] = await Promise.all([
      this.refuseFilesAbove(path, signal),
      this.#bucket.head(this.#keys.file(path), signal),
      this.exists(path, signal),
    ])
    if (file || (exists && exclusive)) throw taken()
    if (exists) return
    const made = await this.#mark(path, conditions, signal)
    if (!made && exclusive) throw taken()
  }

  /** After something was removed: the folder that it was in stays, also when it was the last entry. */
  async keepParent(path: StoragePath, conditions: Conditions): Promise<void> {
    const parent = parentOf(path)
    if (parent !== '' && !(await this.exists(parent))) await this.#mark(parent, conditions)
  }

  /** Returns false where another writer was faster. Only this request makes a marker, so PutObject's condition suffices. */
  async #mark(path: StoragePath, conditions: Conditions, signal?: AbortSignal): Promise<boolean> {
    const object = { Bucket: this.#bucket.name, Key: this.#keys.folder(path), Body: Buffer.alloc(0) }
    const marker = { ...object, ContentType: 'application/x-directory' }
    const put = (condition: object) =>
      this.#bucket.call(signal, (s3, options) => s3.putObject({ ...marker, ...condition }, options))
    if (!conditions.put) {
      return await this.#bucket.exclusively(object.Key, signal, async () => {
        if (await this.#bucket.head(object.Key, signal)) return false
        await put({})
        return true
      })
    }
    try {
      await put({ IfNoneMatch: '*' })
      return true
    } catch (error) {
      if (isPrecondition(error)) return false
      throw error
    }
  }
}

export function notFound(cause?: unknown): StorageError {
  return new StorageError('NOT_FOUND', 'There is nothing at this path.', { cause })
}

export function taken(cause?: unknown): StorageError {
  return new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause })
}

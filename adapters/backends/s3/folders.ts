import { Parents } from '../../bases/objects/parents.ts'
import { maxEntries, Subfolders } from '../../bases/objects/subfolders.ts'
import { childOf, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { type Bucket, isPrecondition } from './bucket.ts'
import { fileEntry, folderEntry } from './entry.ts'
import { decodeKey, type Keys } from './keys.ts'
import type { Conditions } from './probe.ts'

/** A folder exists while any key has its prefix. An empty folder has a marker: an empty object with the key `<folder>/`. */
export class Folders {
  readonly #bucket: Bucket
  readonly #keys: Keys
  readonly #parents: Parents
  readonly #subfolders: Subfolders

  constructor(bucket: Bucket, keys: Keys) {
    this.#bucket = bucket
    this.#keys = keys
    this.#parents = new Parents(async (path, signal) => (await bucket.head(keys.file(path), signal)) !== undefined)
    this.#subfolders = new Subfolders({
      isFolder: (path, signal) => this.exists(path, signal),
      foldersIn: path => this.#foldersIn(path),
    })
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

  /** @throws NOT_A_FILE where the path is a folder; NOT_FOUND */
  async refuseNoFile(path: StoragePath, signal: AbortSignal): Promise<never> {
    if (path === '' || (await this.exists(path, signal))) {
      throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    }
    throw notFound()
  }

  /**
   * Checks that no folder has this path and no file has the path of a parent, before a file is written. It sends one listing,
   * unless the folders beside the file are known, and one HEAD for each parent that was not checked lately. The write itself
   * checks for an existing file.
   * @throws NOT_A_FILE or ALREADY_EXISTS over a folder; NOT_A_DIRECTORY where a parent is a file
   */
  async refuseFolder(path: StoragePath, overwrite: boolean, signal: AbortSignal): Promise<void> {
    this.#subfolders.noteEntry(path)
    const [, isFolder] = await Promise.all([
      this.#parents.refuseFiles(path, signal),
      this.#subfolders.isFolder(path, signal),
    ])
    if (!isFolder) return
    if (!overwrite) throw alreadyExists()
    if (!(await this.statFile(path, signal))) throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
  }

  /** Call this after creating a file. */
  noteFile(path: StoragePath): void {
    this.#parents.noteFile(path)
  }

  async make(
    path: StoragePath,
    { exclusive, conditions, signal }: { exclusive: boolean; conditions: Conditions; signal: AbortSignal },
  ): Promise<void> {
    if (path === '' && exclusive) throw alreadyExists()
    if (path === '') return
    const [, file, exists] = await Promise.all([
      this.#parents.refuseFiles(path, signal),
      this.#bucket.head(this.#keys.file(path), signal),
      this.exists(path, signal),
    ])
    if (file || (exists && exclusive)) throw alreadyExists()
    if (exists) return
    const made = await this.#mark(path, conditions, signal)
    if (!made && exclusive) throw alreadyExists()
  }

  /** Call this after deleting an entry: keeps the parent folder if that was its last entry. */
  async keepParent(path: StoragePath, conditions: Conditions): Promise<void> {
    const parent = parentOf(path)
    if (parent !== '' && !(await this.exists(parent))) await this.#mark(parent, conditions)
  }

  /** Writes the marker; returns false if it exists. All markers are made here, so the condition of PutObject suffices. */
  async #mark(path: StoragePath, conditions: Conditions, signal?: AbortSignal): Promise<boolean> {
    const object = { Bucket: this.#bucket.name, Key: this.#keys.folder(path), Body: Buffer.alloc(0) }
    // The marker lies below the folder.
    this.#subfolders.noteEntry(childOf(path, ''))
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

  async #foldersIn(path: StoragePath): Promise<ReadonlySet<string> | null> {
    const top = this.#keys.folder(path)
    const { CommonPrefixes = [], IsTruncated } = await this.#bucket.call(undefined, s3 =>
      s3.listObjectsV2({
        Bucket: this.#bucket.name,
        Prefix: top,
        Delimiter: '/',
        MaxKeys: maxEntries,
        EncodingType: 'url',
      }),
    )
    if (IsTruncated) return null
    return new Set(CommonPrefixes.map(({ Prefix = '' }) => (decodeKey(Prefix) ?? '').slice(top.length, -1)))
  }
}

export function notFound(cause?: unknown): StorageError {
  return new StorageError('NOT_FOUND', 'There is nothing at this path.', { cause })
}

export function alreadyExists(cause?: unknown): StorageError {
  return new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause })
}

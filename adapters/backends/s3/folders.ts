import { maxEntries, Parents, Subfolders } from '../../bases/objects/folders.ts'
import { childOf, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { type Bucket, isPrecondition } from './bucket.ts'
import { decodeKey, fileEntry, folderEntry, type Keys } from './entry.ts'
import { codeOf, statusOf, toStorageError } from './errors.ts'
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

function notFound(cause?: unknown): StorageError {
  return new StorageError('NOT_FOUND', 'There is nothing at this path.', { cause })
}

export function alreadyExists(cause?: unknown): StorageError {
  return new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause })
}

/** The maximum number of keys in one DeleteObjects and in one listing. */
const batch = 1000
/** The number of concurrent deletions of single keys. */
const atOnce = 16
/** Characters that XML 1.0 cannot contain: https://www.w3.org/TR/xml/#charsets */
const noXml = /[^\t\n\u0020-\ufffd]/

export async function removeKey(bucket: Bucket, Key: string, signal: AbortSignal): Promise<void> {
  if (await bucket.direct?.remove(Key, signal)) return
  await bucket.call(signal, (s3, options) => s3.deleteObject({ Bucket: bucket.name, Key }, options))
}

/** Removes every key with this prefix, including keys that are not valid paths. Returns false if there was none. */
export async function removeAll(bucket: Bucket, Prefix: string, signal: AbortSignal): Promise<boolean> {
  let removed = false
  let ContinuationToken: string | undefined
  do {
    const request = { Bucket: bucket.name, Prefix, MaxKeys: batch, EncodingType: 'url' as const }
    const token = ContinuationToken === undefined ? {} : { ContinuationToken }
    const page = await bucket.call(signal, (s3, options) => s3.listObjectsV2({ ...request, ...token }, options))
    const keys = (page.Contents ?? []).map(object => decodedKey(object.Key))
    await removeKeys(bucket, keys, signal)
    removed ||= keys.length > 0
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (ContinuationToken !== undefined)
  return removed
}

async function removeKeys(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const inXml = keys.filter(key => !noXml.test(key))
  const isDone = inXml.length === 0 || (await removeBatch(bucket, inXml, signal))
  await removeSingly(bucket, isDone ? keys.filter(key => noXml.test(key)) : keys, signal)
}

async function removeSingly(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const left = [...keys]
  const worker = async () => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) await removeKey(bucket, key, signal)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, left.length) }, worker))
}

/**
 * Deletes several keys with one request. Its status is 200 even if no key was deleted; the body lists each failure. Returns
 * false if the server does not implement the request.
 */
async function removeBatch(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<boolean> {
  const Delete = { Objects: keys.map(Key => ({ Key })), Quiet: true }
  // Many other servers support no newer checksum for this request.
  const checksum = bucket.settings.isAmazon ? {} : { ChecksumAlgorithm: 'MD5' as const }
  const result = await bucket.call(signal, async (s3, options) => {
    try {
      return await s3.deleteObjects({ Bucket: bucket.name, Delete, ...checksum }, options)
    } catch (error) {
      if (statusOf(error) === 501 || codeOf(error) === 'NotImplemented') return null
      throw error
    }
  })
  if (!result) return false
  const failure = result.Errors?.find(error => error.Code !== 'NoSuchKey')
  if (!failure) return true
  const cause = Object.assign(new Error(failure.Message ?? 'not deleted'), {
    name: failure.Code ?? 'Unknown',
    $metadata: { httpStatusCode: 500 },
  })
  throw toStorageError(cause, bucket.where)
}

function decodedKey(encoded: string | undefined): string {
  const key = decodeKey(encoded ?? '')
  if (key !== undefined) return key
  throw new StorageError(
    'UNAVAILABLE',
    'Something in this folder has a name that is not UTF-8: delete it at the back end.',
  )
}

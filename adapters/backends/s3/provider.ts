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
import { Bucket, defaultLimits, isPrecondition, type Limits } from './bucket.ts'
import type { S3Settings } from './config.ts'
import { copyObject, headOf } from './copy.ts'
import { fileEntry, type Head, Keys } from './entry.ts'
import { unreachable } from './errors.ts'
import { alreadyExists, Folders, removeAll, removeKey } from './folders.ts'
import { linkToRead, linkToWrite } from './links.ts'
import { listPage, textBefore } from './list.ts'
import { maxFileSize } from './multipart.ts'
import { type Conditions, noConditions, probe } from './probe.ts'
import { resumableWrites } from './resumable.ts'
import { writeBody } from './write.ts'

type Overwrite = { overwrite: boolean }

/** @throws INVALID_CONFIG */
export async function openProvider(
  settings: S3Settings,
  host: Host,
  limits: Partial<Limits> = {},
): Promise<S3Provider> {
  const bucket = new Bucket(settings, host, { ...defaultLimits, ...limits })
  try {
    return new S3Provider(bucket, host, await probe(bucket))
  } catch (error) {
    bucket.close()
    throw error
  }
}

export class S3Provider implements StorageProvider {
  readonly traits: Traits = { emptyDirectories: true, maxFileSize, listOrder: 'keys' }
  readonly resumable: ResumableWrites
  readonly #bucket: Bucket
  readonly #host: Host
  readonly #keys: Keys
  readonly #folders: Folders
  #conditions: Conditions | undefined

  constructor(bucket: Bucket, host: Host, conditions: Conditions | undefined) {
    this.#bucket = bucket
    this.#host = host
    this.#conditions = conditions
    this.#keys = new Keys(bucket.settings.base)
    this.#folders = new Folders(bucket, this.#keys)
    this.resumable = resumableWrites(bucket, this.#keys, this.#folders, () => this.#testedConditions())
  }

  async stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return (await this.#folders.statFile(path, signal)) ?? (await this.#folders.stat(path, signal))
  }

  async list(
    path: StoragePath,
    { signal, cursor, from, limit }: Call & { cursor?: string; from?: string; limit: number },
  ): Promise<ListPage> {
    const folderKey = this.#keys.folder(path)
    const after = cursor ?? (from ? textBefore(from) : undefined)
    const { invalid, hidden, isMissing, ...page } = await listPage(this.#bucket, { folderKey, after, limit, signal })
    if (isMissing && path !== '') {
      if (!(await this.#folders.statFile(path, signal))) throw new StorageError('NOT_FOUND', 'There is no such folder.')
      throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path, not a folder.')
    }
    if (invalid.length > 0) {
      const details = { path, count: invalid.length, example: invalid[0] }
      this.#host.warn('A listing left out keys that are not valid paths', details)
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
    if (path === '') return await this.#folders.refuseNoFile(path, signal)
    const object = { Bucket: this.#bucket.name, Key: this.#keys.file(path) }
    const get = async (part: ByteRange | undefined, etag: string | null | undefined, callSignal: AbortSignal) => {
      const condition = {
        ...(part && { Range: rangeHeader(part) }),
        ...(typeof etag === 'string' && { IfMatch: `"${etag}"` }),
      }
      const response = await this.#bucket.stream(callSignal, (s3, options) =>
        s3.getObject({ ...object, ...condition }, options),
      )
      const stream = response.Body as Readable
      const { ContentLength: length = 0, ContentRange = '' } = response
      try {
        const size = sizeOf(part, response.ContentLength, ContentRange)
        const entry = fileEntry(nameOf(path), this.#bucket.fileId(object.Key), size, response)
        return { stream, length, etag: entry.etag, entry }
      } catch (error) {
        stream.destroy()
        throw error
      }
    }
    const source = {
      get,
      idleTime: this.#bucket.limits.idleTime,
      unreachable: (error: Error) => unreachable(error, this.#bucket.where),
    }
    const { opened, body } = await openObject(source, { range, ifMatch, signal }).catch(error => {
      if (error?.code === 'NOT_FOUND') return this.#folders.refuseNoFile(path, signal)
      throw error
    })
    return { body, entry: opened.entry }
  }

  async write(
    path: StoragePath,
    body: Readable,
    options: Call & Overwrite & { size?: number; mimeType?: string; modifiedAt?: Date; unfinished?: Unfinished },
  ): Promise<Entry> {
    const { signal, size, mimeType, modifiedAt, overwrite, unfinished } = options
    try {
      signal.throwIfAborted()
      const destination = { key: this.#keys.file(path), name: nameOf(path), overwrite, signal }
      if (size !== undefined && size > maxFileSize) {
        throw new StorageError('QUOTA_EXCEEDED', `S3 stores files of at most ${maxFileSize} bytes.`)
      }
      const [conditions] = await Promise.all([
        this.#testedConditions(),
        this.#folders.refuseFolder(path, overwrite, signal),
      ])
      const entry = await writeBody(this.#bucket, conditions, destination, body, {
        path,
        size,
        mimeType,
        modifiedAt,
        unfinished,
        signal,
      })
      this.#folders.noteFile(path)
      return entry
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async delete(path: StoragePath, { signal, entry }: Call & { entry?: Entry }): Promise<void> {
    const key = await this.#keyToRemove(path, entry, signal)
    if (key === undefined) return
    await removeKey(this.#bucket, key, signal)
    await this.#keepParent(path)
  }

  /** Returns undefined for a missing path. @throws NOT_EMPTY */
  async #keyToRemove(path: StoragePath, entry: Entry | undefined, signal: AbortSignal): Promise<string | undefined> {
    const [key, folderKey] = [this.#keys.file(path), this.#keys.folder(path)]
    if (entry?.kind === 'file' && (await this.#bucket.head(key, signal))) return key
    const [file, below] = await Promise.all([this.#bucket.head(key, signal), this.#bucket.keys(folderKey, 2, signal)])
    if (file) return key
    if (below.some(found => found !== folderKey)) throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    return below.length === 0 ? undefined : folderKey
  }

  async deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    const key = this.#keys.file(path)
    // Keys below a file's name are hidden from clients, so deleting the file keeps them.
    if (await this.#bucket.head(key, signal)) await removeKey(this.#bucket, key, signal)
    else if (!(await removeAll(this.#bucket, this.#keys.folder(path), signal))) return
    await this.#keepParent(path)
  }

  async mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    signal.throwIfAborted()
    await this.#folders.make(path, { exclusive, signal, conditions: await this.#testedConditions() })
  }

  async copy(
    from: StoragePath,
    to: StoragePath,
    options: Call & Overwrite & { unfinished?: Unfinished; entry?: Entry },
  ): Promise<Entry> {
    const { signal, overwrite, entry } = options
    signal.throwIfAborted()
    const key = this.#keys.file(from)
    const known = entry && from !== to ? headOf(entry, this.#bucket.limits.copyBytes) : undefined
    if (known) {
      try {
        return await this.#copy({ key, head: known }, to, options)
      } catch (error) {
        if (!hasChanged(error)) throw error
      }
    }
    const head = await this.#bucket.head(key, signal)
    if (!head) return await this.#folders.refuseNoFile(from, signal)
    if (from === to) {
      if (!overwrite) throw alreadyExists()
      return fileEntry(nameOf(from), this.#bucket.fileId(key), head.ContentLength ?? 0, head)
    }
    return await this.#copy({ key, head }, to, options).catch(error => {
      if (!isPrecondition(error)) throw error
      throw new StorageError('UNAVAILABLE', 'The file changed while it was copied: try again.', { cause: error })
    })
  }

  /** Fails with PRECONDITION_FAILED or NOT_FOUND where the source is no longer the one that `head` describes. */
  async #copy(
    source: { key: string; head: Head },
    to: StoragePath,
    { signal, overwrite, unfinished }: Call & Overwrite & { unfinished?: Unfinished },
  ): Promise<Entry> {
    const destination = { key: this.#keys.file(to), name: nameOf(to), overwrite, signal }
    const [conditions] = await Promise.all([
      this.#testedConditions(),
      this.#folders.refuseFolder(to, overwrite, signal),
    ])
    const options = { path: to, signal, unfinished }
    const entry = await copyObject(this.#bucket, conditions, source, destination, options)
    this.#folders.noteFile(to)
    return entry
  }

  async presign(
    path: StoragePath,
    {
      signal,
      method,
      expiresIn,
      responseHeaders,
    }: Call & { method: 'GET' | 'PUT'; expiresIn: number; responseHeaders?: LinkHeaders },
  ): Promise<{ url: URL; headers: Record<string, string> } | null> {
    signal.throwIfAborted()
    const key = this.#keys.file(path)
    const url =
      method === 'GET'
        ? await linkToRead(this.#bucket, key, expiresIn, responseHeaders)
        : await linkToWrite(this.#bucket, key, expiresIn)
    return url && { url, headers: {} }
  }

  async close(): Promise<void> {
    this.#bucket.close()
  }

  async #keepParent(path: StoragePath): Promise<void> {
    try {
      await this.#folders.keepParent(path, await this.#testedConditions())
    } catch (error) {
      // The deletion itself succeeded.
      this.#host.warn('The parent folder may have disappeared with its last entry', { path, error })
    }
  }

  /** Repeats the test if the back end was down when the provider was opened. */
  async #testedConditions(): Promise<Conditions> {
    this.#conditions ??= await probe(this.#bucket)
    return this.#conditions ?? noConditions
  }
}

/** Returns whether a copy failed because its source is no longer the listed one. */
function hasChanged(error: unknown): boolean {
  return isPrecondition(error) || (error instanceof StorageError && error.code === 'NOT_FOUND')
}

/**
 * The storage of vendors whose API is HTTP with JSON and whose consent is OAuth. A backend describes its requests as a
 * `CloudDriver`, and `CloudProvider` makes a provider of it: checks of the root, errors in the words of the contract, and bodies that
 * are destroyed when a call fails. `client.ts` sends the requests, with tokens, timeouts and retries.
 */
import type { Readable } from 'node:stream'
import type {
  ByteRange,
  Call,
  ChangesPage,
  Entry,
  ListPage,
  NativeTrash,
  NativeVersions,
  Quota,
  ReadResult,
  ResumableWrites,
  StoragePath,
  StorageProvider,
  Traits,
} from '../../contract.ts'
import { alreadyExists, intoItself, notAFile, notFound, rootIsFixed } from '../errors.ts'
import { type Vendor, withStorageErrors } from './client.ts'

export interface ReadOptions extends Call {
  range: ByteRange | undefined
  ifMatch: string | undefined
}

/** The options of a request that makes a file visible. */
export interface Commit extends Call {
  path: StoragePath
  overwrite: boolean
  modifiedAt: Date | undefined
}

export interface WriteOptions extends Commit {
  size: number | undefined
  mimeType: string | undefined
}

export interface Transfer extends Call {
  from: StoragePath
  to: StoragePath
  overwrite: boolean
  /** The source, as it was some time ago. */
  entry: Entry | undefined
}

/** The methods of the contract. They may reject with a RequestFailure, and are not called for the root where that has no meaning. */
export interface CloudDriver {
  readonly vendor: Vendor
  readonly traits: Omit<Traits, 'emptyDirectories'>
  readonly resumable?: ResumableWrites
  readonly trash?: NativeTrash
  readonly versions?: NativeVersions
  /** Returns undefined for a missing path. */
  find(path: StoragePath, signal: AbortSignal): Promise<Entry | undefined>
  list(path: StoragePath, options: Call & { cursor: string | undefined; limit: number }): Promise<ListPage>
  read(path: StoragePath, options: ReadOptions): Promise<ReadResult>
  write(body: Readable, options: WriteOptions): Promise<Entry>
  remove(path: StoragePath, options: Call & { entry: Entry | undefined }): Promise<void>
  removeTree(path: StoragePath, call: Call): Promise<void>
  makeFolder(path: StoragePath, options: Call & { exclusive: boolean }): Promise<void>
  copy(transfer: Transfer): Promise<Entry>
  move(transfer: Transfer): Promise<Entry>
  quota(signal: AbortSignal): Promise<Quota>
  changes(cursor: string | null, call: Call): Promise<ChangesPage>
}

type TransferOptions = Call & { overwrite: boolean; entry?: Entry }

export class CloudProvider implements StorageProvider {
  readonly traits: Traits
  readonly resumable?: ResumableWrites
  readonly trash?: NativeTrash
  readonly versions?: NativeVersions
  readonly #driver: CloudDriver

  constructor(driver: CloudDriver) {
    this.traits = { emptyDirectories: true, ...driver.traits }
    this.#driver = driver
    if (driver.resumable) this.resumable = this.#resumable(driver.resumable)
    if (driver.trash) this.trash = this.#trash(driver.trash)
    if (driver.versions) this.versions = this.#versions(driver.versions)
  }

  stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return this.#run(signal, async () => {
      const entry = await this.#driver.find(path, signal)
      if (!entry) throw notFound()
      return entry
    })
  }

  list(path: StoragePath, { signal, cursor, limit }: Call & { cursor?: string; limit: number }): Promise<ListPage> {
    return this.#run(signal, () => this.#driver.list(path, { cursor, limit, signal }))
  }

  read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    return this.#run(signal, async () => {
      if (path === '') throw notAFile()
      return await this.#driver.read(path, { range, ifMatch, signal })
    })
  }

  write(
    path: StoragePath,
    body: Readable,
    options: Call & { size?: number; mimeType?: string; modifiedAt?: Date; overwrite: boolean },
  ): Promise<Entry> {
    const { signal, size, mimeType, modifiedAt, overwrite } = options
    const write = async () => {
      if (path === '') throw overwrite ? notAFile() : alreadyExists()
      return await this.#driver.write(body, { path, size, mimeType, modifiedAt, overwrite, signal })
    }
    return this.#run(signal, write, body)
  }

  delete(path: StoragePath, { signal, entry }: Call & { entry?: Entry }): Promise<void> {
    return this.#run(signal, async () => {
      if (path === '') throw rootIsFixed()
      await this.#driver.remove(path, { entry, signal })
    })
  }

  deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    return this.#run(signal, async () => {
      if (path === '') throw rootIsFixed()
      await this.#driver.removeTree(path, { signal })
    })
  }

  mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    return this.#run(signal, async () => {
      if (path === '' && exclusive) throw alreadyExists()
      if (path !== '') await this.#driver.makeFolder(path, { exclusive, signal })
    })
  }

  copy(from: StoragePath, to: StoragePath, { signal, overwrite, entry }: TransferOptions): Promise<Entry> {
    return this.#run(signal, async () => {
      if (from === '') throw notAFile()
      if (to === '') throw overwrite ? notAFile() : alreadyExists()
      return await this.#driver.copy({ from, to, overwrite, entry, signal })
    })
  }

  move(from: StoragePath, to: StoragePath, { signal, overwrite, entry }: TransferOptions): Promise<Entry> {
    return this.#run(signal, async () => {
      if (from === '' || to === '') throw rootIsFixed()
      if (to.startsWith(`${from}/`)) throw intoItself()
      return await this.#driver.move({ from, to, overwrite, entry, signal })
    })
  }

  quota({ signal }: Call): Promise<Quota> {
    return this.#run(signal, () => this.#driver.quota(signal))
  }

  changes(cursor: string | null, call: Call): Promise<ChangesPage> {
    return this.#run(call.signal, () => this.#driver.changes(cursor, call))
  }

  #resumable(writes: ResumableWrites): ResumableWrites {
    return {
      ...writes,
      begin: (path, options) =>
        this.#run(options.signal, async () => {
          if (path === '') throw notAFile()
          return await writes.begin(path, options)
        }),
      append: (state, body, options) => this.#run(options.signal, () => writes.append(state, body, options), body),
      complete: (state, body, options) => this.#run(options.signal, () => writes.complete(state, body, options), body),
      abort: (state, call) => this.#run(call.signal, () => writes.abort(state, call)),
    }
  }

  #trash(trash: NativeTrash): NativeTrash {
    return {
      identify: (path, call) => this.#run(call.signal, () => trash.identify(path, call)),
      put: (id, path, call) => this.#run(call.signal, () => trash.put(id, path, call)),
      has: (id, call) => this.#run(call.signal, () => trash.has(id, call)),
      restore: (id, to, call) => this.#run(call.signal, () => trash.restore(id, to, call)),
      remove: (id, call) => this.#run(call.signal, () => trash.remove(id, call)),
    }
  }

  #versions(versions: NativeVersions): NativeVersions {
    const { restore, remove } = versions
    return {
      list: (path, call) => this.#run(call.signal, () => versions.list(path, call)),
      stat: (path, id, call) => this.#run(call.signal, () => versions.stat(path, id, call)),
      read: (path, id, call) => this.#run(call.signal, () => versions.read(path, id, call)),
      ...(restore && { restore: (path, id, call) => this.#run(call.signal, () => restore(path, id, call)) }),
      ...(remove && { remove: (path, id, call) => this.#run(call.signal, () => remove(path, id, call)) }),
    }
  }

  /** @param body is destroyed when `work` fails */
  async #run<T>(signal: AbortSignal, work: () => Promise<T>, body?: Readable): Promise<T> {
    try {
      return await withStorageErrors(this.#driver.vendor, signal, work)
    } catch (error) {
      body?.destroy()
      throw error
    }
  }
}

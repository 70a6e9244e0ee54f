import type { Readable } from 'node:stream'
import {
  type ByteRange,
  type Call,
  type Entry,
  type Host,
  type LinkHeaders,
  type ListPage,
  type NativeVersions,
  nameOf,
  parentOf,
  type ReadResult,
  type ResumableWrites,
  StorageError,
  type StoragePath,
  type StorageProvider,
  type Traits,
  type Unfinished,
} from '../../contract.ts'
import { alreadyExists, folderEntry, hasCode, intoItself, notAFile, notAFolder, notEmpty, notFound } from '../errors.ts'
import type { Destination, FolderPage, ObjectDriver } from './driver.ts'
import { Folders } from './folders.ts'
import { openObject } from './read.ts'
import { resumableWrites } from './resumable.ts'
import { nativeVersions } from './versions.ts'
import { storeBody } from './write.ts'

type Overwrite = { overwrite: boolean }

/** A provider of one object store. */
export class ObjectProvider<Facts extends object> implements StorageProvider {
  readonly traits: Traits
  readonly resumable: ResumableWrites
  /** Undefined where only the host can move, by copying and deleting. */
  readonly move?: NonNullable<StorageProvider['move']>
  readonly versions?: NativeVersions
  readonly #driver: ObjectDriver<Facts>
  readonly #folders: Folders<Facts>
  readonly #host: Pick<Host, 'warn'>

  constructor(driver: ObjectDriver<Facts>, host: Pick<Host, 'warn'>) {
    this.traits = { emptyDirectories: true, ...driver.traits }
    this.#driver = driver
    this.#folders = new Folders(driver)
    this.#host = host
    this.resumable = resumableWrites(driver, this.#folders)
    if (driver.versions) this.versions = nativeVersions(driver, driver.versions)
    if (driver.rename) this.move = (from, to, options) => this.#move(from, to, options)
  }

  async stat(path: StoragePath, call: Call): Promise<Entry> {
    return await this.#folders.stat(path, call)
  }

  async list(
    path: StoragePath,
    { signal, cursor, from, limit }: Call & { cursor?: string; from?: string; limit: number },
  ): Promise<ListPage> {
    const folderKey = this.#driver.keys.folder(path)
    const page = await this.#driver.page({ folderKey, cursor, from, limit, signal })
    // Without a page before, a folder that has no keys is an empty one, or none at all.
    const isMissing = page.items.length === 0 && page.cursor === undefined && cursor === undefined && !from
    if (isMissing && path !== '' && (await this.stat(path, { signal })).kind === 'file') throw notAFolder()
    const { entries, invalid, hidden } = await this.#entriesOf(page, folderKey, signal)
    this.#warnOf('A listing left out names that are not valid in a path', path, invalid)
    this.#warnOf('A listing left out folders that have the same name as a file', path, hidden)
    return page.cursor === undefined ? { entries } : { entries, cursor: page.cursor }
  }

  async read(
    path: StoragePath,
    { signal, range, ifMatch }: Call & { range?: ByteRange; ifMatch?: string },
  ): Promise<ReadResult> {
    signal.throwIfAborted()
    if (path === '') throw notAFile()
    const key = this.#driver.keys.file(path)
    const source = {
      get: (part: ByteRange | undefined, etag: string | null | undefined, callSignal: AbortSignal) =>
        this.#driver.get(key, part, etag, callSignal),
      idleTime: this.#driver.limits.idleTime,
      unreachable: (error: Error) => this.#driver.unreachable(error),
    }
    const { opened, body } = await openObject(source, { range, ifMatch, signal }).catch(async error => {
      if (hasCode(error, 'NOT_FOUND')) return await this.#folders.refuseNoFile(path, signal)
      // The object of a folder is empty, so a range of it does not exist.
      const mayBeFolder = this.#driver.folderStyle !== 'inside' && hasCode(error, 'RANGE_NOT_SATISFIABLE')
      if (mayBeFolder && (await this.stat(path, { signal })).kind === 'directory') throw notAFile()
      throw error
    })
    return { body, entry: this.#folders.file(path, opened.facts) }
  }

  async write(
    path: StoragePath,
    body: Readable,
    options: Call & Overwrite & { size?: number; mimeType?: string; modifiedAt?: Date; unfinished?: Unfinished },
  ): Promise<Entry> {
    const { signal, size, mimeType, modifiedAt, unfinished } = options
    const { maxFileSize } = this.#driver.traits
    try {
      signal.throwIfAborted()
      const destination = this.#destination(path, options)
      if (size !== undefined && size > maxFileSize) {
        throw new StorageError('QUOTA_EXCEEDED', `Files can have at most ${maxFileSize} bytes.`)
      }
      await this.#prepare(path, options)
      const store = this.#driver.fileStore(destination, body, { path, size, mimeType, modifiedAt, unfinished })
      const entry = await storeBody(store, body, { size, signal })
      this.#folders.noteFile(path)
      return entry
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async delete(path: StoragePath, { signal }: Call & { entry?: Entry }): Promise<void> {
    signal.throwIfAborted()
    if (await this.#remove(path, signal)) await this.#keepParent(path)
  }

  async deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    signal.throwIfAborted()
    if (await this.#removeTree(path, signal)) await this.#keepParent(path)
  }

  async mkdir(path: StoragePath, options: Call & { exclusive: boolean }): Promise<void> {
    options.signal.throwIfAborted()
    await this.#driver.prepare?.()
    await this.#folders.make(path, options)
  }

  async copy(
    from: StoragePath,
    to: StoragePath,
    options: Call & Overwrite & { unfinished?: Unfinished; entry?: Entry },
  ): Promise<Entry> {
    const { signal, overwrite, entry } = options
    signal.throwIfAborted()
    const key = this.#driver.keys.file(from)
    const known = entry && from !== to ? this.#driver.factsOf?.(entry) : undefined
    if (known) {
      try {
        return await this.#copy({ key, facts: known }, to, options)
      } catch (error) {
        // The source is no longer the listed one.
        if (!hasCode(error, 'PRECONDITION_FAILED', 'NOT_FOUND')) throw error
      }
    }
    const facts = await this.#driver.head(key, signal)
    if (!facts || this.#driver.isFolder(facts)) return await this.#folders.refuseNoFile(from, signal)
    if (from === to) {
      if (!overwrite) throw alreadyExists()
      return this.#folders.file(from, facts)
    }
    return await this.#copy({ key, facts }, to, options).catch(error => {
      if (!hasCode(error, 'PRECONDITION_FAILED')) throw error
      throw new StorageError('UNAVAILABLE', 'The file changed while it was copied: try again.', { cause: error })
    })
  }

  async presign(
    path: StoragePath,
    { signal, ...options }: Call & { method: 'GET' | 'PUT'; expiresIn: number; responseHeaders?: LinkHeaders },
  ): Promise<{ url: URL; headers: Record<string, string> } | null> {
    signal.throwIfAborted()
    return await this.#driver.presign(this.#driver.keys.file(path), options)
  }

  async close(): Promise<void> {
    this.#driver.close()
  }

  /** Fails with PRECONDITION_FAILED or NOT_FOUND where the source is not the one that `facts` describe. */
  async #copy(
    source: { key: string; facts: Facts },
    to: StoragePath,
    options: Call & Overwrite & { unfinished?: Unfinished },
  ): Promise<Entry> {
    const destination = this.#destination(to, options)
    await this.#prepare(to, options)
    options.signal.throwIfAborted()
    const entry = await this.#driver.copy(source, destination, { path: to, unfinished: options.unfinished })
    this.#folders.noteFile(to)
    return entry
  }

  /** Returns false for a missing path. @throws NOT_EMPTY */
  async #remove(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const key = this.#driver.keys.file(path)
    const facts = await this.#driver.head(key, signal)
    if (facts && !this.#driver.isFolder(facts)) {
      await this.#driver.remove(key, signal)
      return true
    }
    if (this.#driver.removeFolder) return facts !== undefined && (await this.#driver.removeFolder(key, false, signal))
    const { hasEntries, hasMarker } = await this.#folders.below(path, signal)
    if (hasEntries) throw notEmpty()
    if (hasMarker) await this.#driver.remove(`${key}/`, signal)
    if (facts) await this.#driver.remove(key, signal)
    return facts !== undefined || hasMarker
  }

  /** Returns false for a missing path. */
  async #removeTree(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const key = this.#driver.keys.file(path)
    const facts = await this.#driver.head(key, signal)
    // Keys below a file's name are hidden from clients, so deleting the file keeps them.
    const isFile = facts !== undefined && !this.#driver.isFolder(facts)
    if (this.#driver.removeFolder && !isFile) {
      return facts !== undefined && (await this.#driver.removeFolder(key, true, signal))
    }
    const hadKeys = !isFile && (await this.#folders.empty(path, signal))
    if (facts) await this.#driver.remove(key, signal)
    return facts !== undefined || hadKeys
  }

  /** Moves a file or a real folder, in one step. */
  async #move(from: StoragePath, to: StoragePath, { signal, overwrite }: Call & Overwrite): Promise<Entry> {
    signal.throwIfAborted()
    const [source, destination] = [this.#driver.keys.file(from), this.#driver.keys.file(to)]
    if (to.startsWith(`${from}/`)) throw intoItself()
    const [facts, existing] = await Promise.all([
      this.#driver.head(source, signal),
      this.#driver.head(destination, signal),
      this.#folders.refuseFilesAbove(to, signal),
    ])
    if (!facts) throw notFound()
    const isFolder = this.#driver.isFolder(facts)
    if (existing && !overwrite) throw alreadyExists()
    if (existing && this.#driver.isFolder(existing) !== isFolder) throw isFolder ? notAFolder() : notAFile()
    if (from !== to) {
      if (existing && isFolder && (await this.#folders.below(to, signal)).hasEntries) throw notEmpty()
      const parent = parentOf(to)
      if (parent !== '') await this.#folders.make(parent, { exclusive: false, signal })
      signal.throwIfAborted()
      await this.#driver.rename?.(source, destination, overwrite).catch(error => {
        throw hasCode(error, 'PRECONDITION_FAILED') && !overwrite ? alreadyExists(error) : error
      })
    }
    const moved = await this.#driver.head(destination)
    return isFolder ? this.#folders.folder(to) : this.#folders.file(to, moved ?? facts)
  }

  #destination(path: StoragePath, { signal, overwrite }: Call & Overwrite): Destination {
    return { key: this.#driver.keys.file(path), name: nameOf(path), overwrite, signal }
  }

  /** @throws as `Folders.refuseFolder` */
  async #prepare(path: StoragePath, { signal, overwrite }: Call & Overwrite): Promise<void> {
    await Promise.all([this.#driver.prepare?.(), this.#folders.refuseFolder(path, overwrite, signal)])
  }

  async #keepParent(path: StoragePath): Promise<void> {
    try {
      await this.#driver.prepare?.()
      await this.#folders.keepParent(path)
    } catch (error) {
      // The deletion itself succeeded.
      this.#host.warn('The parent folder may have disappeared with its last entry', { path, error })
    }
  }

  /**
   * Sorts a page into entries, names that a path cannot have, and folders that are hidden by a file of the same name. A folder can
   * be listed twice: as its marker, and as the prefix of the keys in it. The file or the marker sorts first, but other names may
   * sort between the two, so a page may begin there.
   */
  async #entriesOf({ items, mayBeEarlier }: FolderPage<Facts>, folderKey: string, signal: AbortSignal) {
    const driver = this.#driver
    const objects = new Map(items.flatMap(({ key, facts }) => (key !== undefined && facts ? [[key, facts]] : [])))
    const entries: Entry[] = []
    const invalid: (string | undefined)[] = []
    const hidden: string[] = []
    for (const { key, facts } of items) {
      // The marker of this folder.
      if (facts && key === folderKey) continue
      const name = facts ? key?.slice(folderKey.length) : key?.slice(folderKey.length, -1)
      if (name !== undefined && driver.isHidden(name, !facts)) continue
      if (name === undefined || !driver.isName(name)) invalid.push(name)
      else if (facts && !driver.isFolder(facts)) entries.push(driver.fileEntry(name, folderKey + name, facts))
      else {
        const same = facts ? undefined : await sameName(folderKey + name)
        if (same && !driver.isFolder(same)) hidden.push(name)
        if (!same) entries.push(folderEntry(name, driver.fileId(`${folderKey}${name}/`)))
      }
    }
    return { entries, invalid, hidden }

    /** Returns the object with the name of a folder. Takes a request only where that may be on an earlier page. */
    async function sameName(key: string): Promise<Facts | undefined> {
      return objects.get(key) ?? (mayBeEarlier(key) ? await driver.head(key, signal) : undefined)
    }
  }

  #warnOf(message: string, path: StoragePath, names: readonly (string | undefined)[]): void {
    if (names.length > 0) this.#host.warn(message, { path, count: names.length, example: names[0] })
  }
}

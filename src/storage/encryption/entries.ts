/** The entries of an encrypted storage: where each is stored, and what it looks like without encryption. */

import {
  ancestorsOf,
  type Call,
  type Entry,
  nameOf,
  parentOf,
  type Replacing,
  StorageError,
  type StoragePath,
  type StorageProvider,
  segmentsOf,
} from '../../../adapters/contract.ts'
import { contentSize, storedSize } from './blocks.ts'
import { alreadyExists, hasCode, notADirectory, notAFile, notAFolder, notFound, nullIfMissing } from './errors.ts'
import type { EntryKind, NameCipher } from './names.ts'

/** Bytes of the longest name of most file systems. */
const usualNameBytes = 255

export class StoredEntries {
  readonly names: NameCipher
  readonly #inner: StorageProvider

  constructor(inner: StorageProvider, names: NameCipher) {
    this.#inner = inner
    this.names = names
  }

  /** Returns whether a file and a folder of this path are stored under different names, so that both could exist. */
  isAmbiguous(path: StoragePath): boolean {
    return (
      path !== '' && this.names.storedName(nameOf(path), 'file') !== this.names.storedName(nameOf(path), 'directory')
    )
  }

  /** @throws NOT_FOUND */
  async stat(path: StoragePath, call: Call): Promise<Entry> {
    if (!this.isAmbiguous(path))
      return this.plain(await this.#inner.stat(this.names.toStored(path, 'file'), call), nameOf(path))
    const [file, folder] = await Promise.all([this.#find(path, 'file', call), this.#find(path, 'directory', call)])
    const found = file ?? folder
    if (!found) throw notFound()
    return this.plain(found, nameOf(path))
  }

  /** Returns the kind of an entry if it decides where the entry is stored, and otherwise any. @throws NOT_FOUND */
  async kindOf(path: StoragePath, call: Call): Promise<EntryKind> {
    return this.isAmbiguous(path) ? (await this.stat(path, call)).kind : 'file'
  }

  /** Returns the stored entry if it has this kind, or null. */
  async #find(path: StoragePath, kind: EntryKind, call: Call): Promise<Entry | null> {
    const entry = await this.#inner.stat(this.names.toStored(path, kind), call).catch(nullIfMissing)
    return entry?.kind === kind ? entry : null
  }

  /**
   * Refuses a new entry where one of the other kind is stored under another name, or below a file. Elsewhere, the back end does that.
   * @throws ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY
   */
  async refuseOther(
    path: StoragePath,
    kind: EntryKind,
    { signal, overwrite }: Call & { overwrite: boolean },
  ): Promise<void> {
    const parents = ancestorsOf(path).filter(parent => this.isAmbiguous(parent))
    const isAmbiguous = this.isAmbiguous(path)
    if (parents.length === 0 && !isAmbiguous) return
    const [other, parent] = await Promise.all([
      isAmbiguous ? this.#find(path, kind === 'file' ? 'directory' : 'file', { signal }) : null,
      parents.length > 0 ? this.#find(parentOf(path), 'directory', { signal }) : 'unasked',
    ])
    if (other) throw !overwrite ? alreadyExists() : kind === 'file' ? notAFile() : notAFolder()
    if (parent) return
    for (const folder of parents) if (await this.#find(folder, 'file', { signal })) throw notADirectory()
  }

  /** Returns the error for a file that could not be opened: the path may be that of a folder. */
  async explained(path: StoragePath, error: unknown, call: Call): Promise<unknown> {
    if (!hasCode(error, 'NOT_FOUND', 'NOT_A_FILE') || !this.isAmbiguous(path)) return error
    const entry = await this.stat(path, call)
    return entry.kind === 'directory' ? notAFile() : error
  }

  /** Runs work that creates an entry. @throws INVALID_PATH with the length of the stored name, if that is why the back end refuses it */
  async creating<T>(path: StoragePath, kind: EntryKind, work: (stored: StoragePath) => Promise<T>): Promise<T> {
    const stored = this.names.toStored(path, kind)
    try {
      return await work(stored)
    } catch (error) {
      const longest = Math.max(...segmentsOf(stored).map(name => Buffer.byteLength(name)))
      if (!hasCode(error, 'INVALID_PATH') || longest <= usualNameBytes) throw error
      const message = `Encrypted, a name of this path has ${longest} bytes, which is more than the storage takes: use a shorter one.`
      throw new StorageError('INVALID_PATH', message, { cause: error })
    }
  }

  /** Returns the options of a call that replaces a file, for the back end. */
  keepStored<Options extends Replacing>(options: Options): Options {
    const { keep } = options
    if (!keep) return options
    return {
      ...options,
      keep: preserve =>
        keep(async to => {
          const kept = await preserve(this.names.toStored(to, 'file'))
          return kept && this.plain(kept, nameOf(to))
        }),
    }
  }

  /** Returns a stored entry as it is without encryption. Its size is null if no content could have the stored size. */
  plain({ checksums: _ofStored, mimeType: _type, ...entry }: Entry, name: string): Entry {
    const size = entry.size === null || entry.kind !== 'file' ? null : contentSize(entry.size)
    return { ...entry, name, size, mimeType: null }
  }

  /** Returns the option `entry` for the back end, as it returned it before. */
  stored(entry: Entry | undefined, stored: StoragePath): { entry?: Entry } {
    if (!entry || (entry.kind === 'file' && entry.size === null)) return {}
    return { entry: { ...entry, name: nameOf(stored), size: entry.size === null ? null : storedSize(entry.size) } }
  }
}

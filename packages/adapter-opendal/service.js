// @ts-check
/** @import { Operator } from 'opendal' */
/** @import { Entry, Host, StoragePath } from 'stowage/adapter' */
import { ancestorsOf, nameOf, orAborted, StorageError } from 'stowage/adapter'
import { folderEntry, toEntry } from './entries.js'
import { hasCode, translated } from './errors.js'
import { refuseNames } from './names.js'

/** Bytes of one request for a part of a file. */
export const chunkBytes = 4 * 1024 * 1024

/** An open service, and looks at its paths. */
export class Service {
  /** @param {Operator} operator @param {Host} host @param {string} store */
  constructor(operator, host, store) {
    this.operator = operator
    this.host = host
    this.store = store
    this.can = operator.capability()
  }

  /** @param {StoragePath} path @param {AbortSignal} signal @returns {Promise<Entry>} */
  async stat(path, signal) {
    signal.throwIfAborted()
    if (path === '') return folderEntry('', this.store)
    const found = await this.find(path, signal)
    if (!found) throw new StorageError('NOT_FOUND', 'There is nothing at this path.')
    return found
  }

  /** Returns undefined for a missing path. @param {StoragePath} path @param {AbortSignal} signal @returns {Promise<Entry | undefined>} */
  async find(path, signal) {
    refuseNames(path)
    for (const spelled of [path, `${path}/`]) {
      try {
        const metadata = await orAborted(translated(this.operator.stat(spelled)), signal)
        const isFolder = metadata.isDirectory()
        if (isFolder || spelled === path)
          return toEntry(nameOf(path), metadata, this.store + (isFolder ? `${path}/` : path))
      } catch (error) {
        if (!['NOT_FOUND', 'NOT_A_FILE', 'NOT_A_DIRECTORY'].some(code => hasCode(error, /** @type {any} */ (code))))
          throw error
      }
    }
    return undefined
  }

  /** Refuses a path where no file can be stored. @param {StoragePath} path @param {boolean} overwrite @param {AbortSignal} signal */
  async refuse(path, overwrite, signal) {
    const [found] = await Promise.all([this.find(path, signal), this.refuseFilesAbove(path, signal)])
    if (found && !overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
    if (found?.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
  }

  /** @param {StoragePath} path @param {AbortSignal} signal */
  async refuseFilesAbove(path, signal) {
    const parents = ancestorsOf(path).slice(1)
    const found = await Promise.all(parents.map(parent => this.find(parent, signal)))
    if (found.some(entry => entry?.kind === 'file')) {
      throw new StorageError('NOT_A_DIRECTORY', 'Something on this path is a file, not a folder.')
    }
  }

  /** Runs `work` while no other call changes this path. @template T @param {StoragePath} path @param {AbortSignal} signal @param {() => Promise<T>} work */
  async inTurn(path, signal, work) {
    return await this.host.exclusively(this.store + path, { signal }, work)
  }
}

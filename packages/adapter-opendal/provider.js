// @ts-check
/** @import { Call, Entry, StoragePath, StorageProvider } from 'stowage/adapter' */
/** @import { Service } from './service.js' */
import { StorageError } from 'stowage/adapter'
import { translated } from './errors.js'
import { list } from './list.js'
import { read } from './read.js'
import { maxBytesInOne, write } from './write.js'

/** @implements {StorageProvider} */
export class OpenDalProvider {
  #service

  /** @param {Service} service */
  constructor(service) {
    const { can } = service
    this.#service = service
    this.traits = {
      emptyDirectories: can.createDir,
      ...(can.writeTotalMaxSize !== null && { maxFileSize: Number(can.writeTotalMaxSize) }),
      ...(!can.writeCanMulti && { maxFileSize: maxBytesInOne, maxWrites: 2 }),
    }
    if (can.copy) this.copy = this.#copy.bind(this)
  }

  /** @param {StoragePath} path @param {Call} options @returns {Promise<Entry>} */
  async stat(path, { signal }) {
    return await this.#service.stat(path, signal)
  }

  /** @type {StorageProvider['list']} */
  async list(path, options) {
    return await list(this.#service, path, options)
  }

  /** @type {StorageProvider['read']} */
  async read(path, options) {
    return await read(this.#service, path, options)
  }

  /** @type {StorageProvider['write']} */
  async write(path, body, options) {
    return await write(this.#service, path, body, options)
  }

  /** @type {StorageProvider['delete']} */
  async delete(path, { signal }) {
    signal.throwIfAborted()
    const { operator } = this.#service
    const found = await this.#service.find(path, signal)
    if (!found) return
    if (found.kind === 'file') return await translated(operator.delete(path))
    const { entries } = await this.list(path, { signal, limit: 1 })
    if (entries.length > 0) throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    await translated(operator.delete(`${path}/`))
  }

  /** @param {StoragePath} path @param {Call} options */
  async deleteTree(path, { signal }) {
    signal.throwIfAborted()
    const { operator } = this.#service
    const found = await this.#service.find(path, signal)
    if (!found) return
    if (found.kind === 'file') await translated(operator.delete(path))
    else await translated(operator.removeAll(`${path}/`))
  }

  /** @type {StorageProvider['mkdir']} */
  async mkdir(path, { signal, exclusive }) {
    signal.throwIfAborted()
    const service = this.#service
    await service.inTurn(path, signal, async () => {
      const found = path === '' ? await service.stat(path, signal) : await service.find(path, signal)
      if (found && (exclusive || found.kind === 'file')) {
        throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
      }
      await service.refuseFilesAbove(path, signal)
      if (!found && service.can.createDir) await translated(service.operator.createDir(`${path}/`))
    })
  }

  /** @param {StoragePath} from @param {StoragePath} to @param {Call & { overwrite: boolean }} options @returns {Promise<Entry>} */
  async #copy(from, to, { signal, overwrite }) {
    const service = this.#service
    const source = await service.stat(from, signal)
    if (source.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    return await service.inTurn(to, signal, async () => {
      await service.refuse(to, overwrite, signal)
      if (from !== to) await translated(service.operator.copy(from, to))
      return await service.stat(to, new AbortController().signal)
    })
  }
}

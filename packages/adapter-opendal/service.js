// @ts-check
/** An open service: the names that it can hold, and the entries at its paths. */
/** @import { Metadata, Operator } from 'opendal' */
/** @import { Entry, Host, StoragePath } from 'stowage/adapter' */
import { ancestorsOf, nameOf, orAborted, StorageError, segmentsOf } from 'stowage/adapter'
import { hasCode, translated } from './errors.js'

/** Bytes of one request for a part of a file. */
export const chunkBytes = 4 * 1024 * 1024

/** Begins the names of files that are being written, in services that rename. They are in the root, so that no new folder remains. */
export const stagingPrefix = '.stowage-opendal-'

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
    for (const candidate of [path, `${path}/`]) {
      try {
        const metadata = await orAborted(translated(this.operator.stat(candidate)), signal)
        const isFolder = metadata.isDirectory()
        if (isFolder || candidate === path)
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

/** OpenDAL trims paths and reads a backslash as a slash. A control character makes some services fail to list the folder. @param {string} name */
export function isStorable(name) {
  const isKept = name !== '' && !/[/\\\p{Cc}]|^\s|\s$/u.test(name)
  return isKept && Buffer.byteLength(name) <= 255 && !name.startsWith(stagingPrefix)
}

/** @param {StoragePath} path */
export function refuseNames(path) {
  if (segmentsOf(path).every(isStorable)) return
  const message =
    'OpenDAL stores no names that begin or end with white space, contain a backslash or control character, or have more than 255 bytes.'
  throw new StorageError('INVALID_PATH', message)
}

/**
 * @param {string} name
 * @param {Metadata} metadata
 * @param {string} fileId
 * @returns {Entry}
 */
function toEntry(name, metadata, fileId) {
  const modifiedAt = metadata.lastModified ? new Date(metadata.lastModified) : null
  if (metadata.isDirectory()) return folderEntry(name, fileId)
  const md5 = metadata.contentMd5 && Buffer.from(metadata.contentMd5, 'base64').toString('hex')
  return {
    name,
    kind: 'file',
    size: metadata.contentLength === null ? null : Number(metadata.contentLength),
    modifiedAt,
    etag: metadata.etag?.replace(/^W\//, '').replaceAll('"', '') || null,
    mimeType: metadata.contentType ?? null,
    fileId,
    ...(md5 && /^[0-9a-f]{32}$/.test(md5) && { checksums: { md5 } }),
  }
}

/** @param {string} name @param {string} fileId @returns {Entry} */
function folderEntry(name, fileId) {
  return { name, kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null, fileId }
}

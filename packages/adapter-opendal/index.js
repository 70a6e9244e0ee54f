// @ts-check
/** Opens the services of Apache OpenDAL that the operator allows. */
/** @import { AdapterDefinition, ByteRange, Call, Entry, Host, ReadResult, StoragePath, StorageProvider } from 'stowage/adapter' */
import { createHash, randomUUID } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
// @ts-expect-error The types leave out `layers`.
import { layers, Operator } from 'opendal'
import { ancestorsOf, nameOf, orAborted, StorageError, segmentsOf } from 'stowage/adapter'
import { folderEntry, toEntry } from './entries.js'
import { hasCode, translated } from './errors.js'

/** Bytes of one request for a part of a file. */
const chunkBytes = 4 * 1024 * 1024
/** Bytes of the largest file in services to which OpenDAL sends a file in one request, from memory. */
const maxBytesInOne = 32 * 1024 * 1024
/** The number of requests for the entries of a page at once. */
const atOnce = 16
/** Begins the names of files that are being written, in services that rename. They are in the root, so that no new folder remains. */
const stagingPrefix = '.stowage-opendal-'

/** @type {AdapterDefinition<{ service: string, options: string }>} */
export default {
  type: 'opendal',
  apiVersion: 1,
  title: 'Apache OpenDAL (services that the operator allows)',
  configSchema: {
    type: 'object',
    properties: {
      service: {
        type: 'string',
        title: 'Service',
        description: 'The name of a service of OpenDAL, such as webdav, that is in OPENDAL_SERVICES.',
        pattern: '^[a-z0-9-]{1,40}$',
      },
      // Addresses and secrets together: whoever changes one enters both again.
      options: {
        type: 'string',
        title: 'Options',
        description: 'The options of the service as a JSON object, such as {"endpoint": "...", "root": "/team"}.',
        maxLength: 16_384,
        writeOnly: true,
      },
    },
    required: ['service', 'options'],
  },
  async open({ service, options }, host) {
    const allowed = (process.env.OPENDAL_SERVICES ?? '').split(',').map(name => name.trim())
    if (!allowed.includes(service)) {
      const message = `The operator does not allow the service "${service}": add it to OPENDAL_SERVICES in the environment of the server.`
      throw new StorageError('INVALID_CONFIG', message)
    }
    const parsed = parseOptions(options)
    const operator = await translated((async () => new Operator(service, parsed))())
    const provider = new OpenDalProvider(
      service === 'fs' ? operator : retrying(operator),
      host,
      storeOf(service, parsed),
    )
    await provider.list(/** @type {StoragePath} */ (''), { signal: host.signal, limit: 1 })
    host.warn('The connections of OpenDAL do not pass the network guard', { service })
    return provider
  },
}

/** The service `fs` must not be retried, because it reports a path below a file as a temporary error. @param {Operator} operator */
function retrying(operator) {
  const retry = new layers.RetryLayer()
  retry.maxTimes = 3
  return operator.layer(retry.build())
}

/** @param {string} text @returns {Record<string, string>} */
function parseOptions(text) {
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, option]) => [name, String(option)]))
    }
  } catch {}
  throw new StorageError('INVALID_CONFIG', 'The options are not a JSON object, such as {"root": "/team"}.')
}

/** Identifies a service by all options but the folder and the credentials. @param {string} service @param {Record<string, string>} options */
function storeOf(service, { root = '/', ...options }) {
  const isSecret = (/** @type {string} */ name) => /secret|key|token|password|credential|user/.test(name)
  const known = Object.entries(options)
    .filter(([name]) => !isSecret(name))
    .toSorted()
  const hash = createHash('sha256').update(JSON.stringify(known)).digest('hex').slice(0, 32)
  return `opendal:${service}:${hash}:/${root}/`.replace(/\/+/g, '/')
}

/** @implements {StorageProvider} */
class OpenDalProvider {
  /** @param {Operator} operator @param {Host} host @param {string} store */
  constructor(operator, host, store) {
    this.operator = operator
    this.host = host
    this.store = store
    this.can = operator.capability()
    this.traits = {
      emptyDirectories: this.can.createDir,
      ...(this.can.writeTotalMaxSize !== null && { maxFileSize: Number(this.can.writeTotalMaxSize) }),
      ...(!this.can.writeCanMulti && { maxFileSize: maxBytesInOne, maxWrites: 2 }),
    }
    if (this.can.copy) this.copy = this.#copy.bind(this)
  }

  /** @param {StoragePath} path @param {Call} options @returns {Promise<Entry>} */
  async stat(path, { signal }) {
    signal.throwIfAborted()
    if (path === '') return folderEntry('', this.store)
    const found = await this.#find(path, signal)
    if (!found) throw new StorageError('NOT_FOUND', 'There is nothing at this path.')
    return found
  }

  /** @type {StorageProvider['list']} */
  async list(path, { signal, cursor = '', limit }) {
    signal.throwIfAborted()
    refuseNames(path)
    const folder = path === '' ? '/' : `${path}/`
    const skips = this.can.listWithStartAfter && cursor !== ''
    const lister = await orAborted(
      translated(this.operator.lister(folder, skips ? { startAfter: folder + cursor } : {})),
      signal,
    )
    /** @type {string[]} */
    const names = []
    // Without `startAfter`, the whole folder is read for each page.
    for (;;) {
      const entry = await orAborted(translated(lister.next()), signal)
      if (!entry || (this.can.listWithStartAfter && names.length > limit)) break
      const name = (path === '' ? entry.path() : entry.path().slice(folder.length)).replace(/\/$/, '')
      if (isStorable(name) && name > cursor) names.push(name)
    }
    if (names.length === 0 && cursor === '' && path !== '') {
      if ((await this.stat(path, { signal })).kind === 'file') {
        throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path.')
      }
    }
    const page = names.sort().slice(0, limit)
    /** @type {(Entry | undefined)[]} */
    const entries = []
    const rest = [...page.entries()].values()
    const worker = async () => {
      for (const [i, name] of rest) {
        entries[i] = await this.#find(/** @type {StoragePath} */ (path === '' ? name : `${path}/${name}`), signal)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    const last = page.at(-1)
    const listed = entries.filter(entry => entry !== undefined)
    return names.length > limit && last !== undefined ? { entries: listed, cursor: last } : { entries: listed }
  }

  /** @param {StoragePath} path @param {Call & { range?: ByteRange, ifMatch?: string }} options @returns {Promise<ReadResult>} */
  async read(path, options) {
    for (let left = 10; ; left -= 1) {
      try {
        return await this.#readVersion(path, options)
      } catch (error) {
        // The file was replaced after its entry was read.
        if (left === 0 || options.ifMatch !== undefined || !hasCode(error, 'PRECONDITION_FAILED')) throw error
      }
    }
  }

  /** @param {StoragePath} path @param {Call & { range?: ByteRange, ifMatch?: string }} options @returns {Promise<ReadResult>} */
  async #readVersion(path, { signal, range, ifMatch }) {
    const entry = await this.stat(path, { signal })
    if (entry.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    if (ifMatch !== undefined && ifMatch !== entry.etag) throw changed('PRECONDITION_FAILED')
    const size = entry.size ?? 0
    if (range && range.offset >= size) throw new StorageError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes.`)
    const start = range?.offset ?? 0
    const end = range?.length === undefined ? size : Math.min(size, start + range.length)
    const first = start < end ? await this.#readChunk(path, entry, start, end, signal) : Buffer.alloc(0)
    const next = (/** @type {number} */ offset) => this.#readChunk(path, entry, offset, end, signal)
    async function* chunks() {
      if (first.length > 0) yield first
      for (let offset = start + chunkBytes; offset < end; offset += chunkBytes) {
        yield await next(offset).catch(error => {
          throw hasCode(error, 'PRECONDITION_FAILED') ? changed('UNAVAILABLE') : error
        })
      }
    }
    return { body: addAbortSignal(signal, Readable.from(chunks(), { objectMode: false })), entry }
  }

  /** @param {StoragePath} path @param {Entry} entry @param {number} offset @param {number} end @param {AbortSignal} signal */
  async #readChunk(path, entry, offset, end, signal) {
    const length = Math.min(chunkBytes, end - offset)
    const isConditional = this.can.readWithIfMatch && entry.etag !== null
    const options = {
      offset: BigInt(offset),
      size: BigInt(length),
      ...(isConditional && { ifMatch: `"${entry.etag}"` }),
    }
    const bytes = await orAborted(translated(this.operator.read(path, options)), signal)
    if (bytes.length !== length) throw changed('PRECONDITION_FAILED')
    if (isConditional) return bytes
    const found = await this.#find(path, signal)
    const isSame =
      found?.size === entry.size &&
      found.etag === entry.etag &&
      found.modifiedAt?.getTime() === entry.modifiedAt?.getTime()
    if (!isSame) throw changed('PRECONDITION_FAILED')
    return bytes
  }

  /** @type {StorageProvider['write']} */
  async write(path, body, { signal, mimeType, overwrite }) {
    const staged = this.can.rename ? stagingPrefix + randomUUID() : path
    try {
      signal.throwIfAborted()
      await this.#refuse(path, overwrite, signal)
      const isAtomic = !this.can.rename && this.can.writeWithIfNotExists
      const options = {
        ...(mimeType && this.can.writeWithContentType && { contentType: mimeType }),
        ...(isAtomic && !overwrite && { ifNotExists: true }),
        // A file of up to one chunk takes one request.
        ...(this.can.writeCanMulti && { chunk: BigInt(chunkBytes) }),
      }
      const writer = await translated(this.operator.writer(staged, options))
      addAbortSignal(signal, body)
      if (this.can.writeCanMulti) for await (const bytes of body) await translated(writer.write(bytes))
      else await translated(writer.write(await collected(body)))
      signal.throwIfAborted()
      if (isAtomic) await translated(writer.close()).catch(orExists)
      else {
        if (this.can.rename) await translated(writer.close())
        await this.#inTurn(path, signal, async () => {
          await this.#refuse(path, overwrite, signal)
          if (this.can.rename) await translated(this.operator.rename(staged, path))
          else await translated(writer.close())
        })
      }
      return await this.stat(path, { signal: new AbortController().signal })
    } catch (error) {
      body.destroy()
      if (staged !== path) await this.operator.delete(staged).catch(() => {})
      throw signal.aborted ? signal.reason : error
    }
  }

  /** @type {StorageProvider['delete']} */
  async delete(path, { signal }) {
    signal.throwIfAborted()
    const found = await this.#find(path, signal)
    if (!found) return
    if (found.kind === 'file') return await translated(this.operator.delete(path))
    const { entries } = await this.list(path, { signal, limit: 1 })
    if (entries.length > 0) throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    await translated(this.operator.delete(`${path}/`))
  }

  /** @param {StoragePath} path @param {Call} options */
  async deleteTree(path, { signal }) {
    signal.throwIfAborted()
    const found = await this.#find(path, signal)
    if (!found) return
    if (found.kind === 'file') await translated(this.operator.delete(path))
    else await translated(this.operator.removeAll(`${path}/`))
  }

  /** @type {StorageProvider['mkdir']} */
  async mkdir(path, { signal, exclusive }) {
    signal.throwIfAborted()
    await this.#inTurn(path, signal, async () => {
      const found = path === '' ? folderEntry('', this.store) : await this.#find(path, signal)
      if (found && (exclusive || found.kind === 'file')) {
        throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
      }
      await this.#refuseFilesAbove(path, signal)
      if (!found && this.can.createDir) await translated(this.operator.createDir(`${path}/`))
    })
  }

  /** @param {StoragePath} from @param {StoragePath} to @param {Call & { overwrite: boolean }} options @returns {Promise<Entry>} */
  async #copy(from, to, { signal, overwrite }) {
    const source = await this.stat(from, { signal })
    if (source.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    return await this.#inTurn(to, signal, async () => {
      await this.#refuse(to, overwrite, signal)
      if (from !== to) await translated(this.operator.copy(from, to))
      return await this.stat(to, { signal: new AbortController().signal })
    })
  }

  /** Returns undefined for a missing path. @param {StoragePath} path @param {AbortSignal} signal @returns {Promise<Entry | undefined>} */
  async #find(path, signal) {
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

  /** @param {StoragePath} path @param {boolean} overwrite @param {AbortSignal} signal */
  async #refuse(path, overwrite, signal) {
    const [found] = await Promise.all([this.#find(path, signal), this.#refuseFilesAbove(path, signal)])
    if (found && !overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
    if (found?.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
  }

  /** @param {StoragePath} path @param {AbortSignal} signal */
  async #refuseFilesAbove(path, signal) {
    const parents = ancestorsOf(path).slice(1)
    const found = await Promise.all(parents.map(parent => this.#find(parent, signal)))
    if (found.some(entry => entry?.kind === 'file')) {
      throw new StorageError('NOT_A_DIRECTORY', 'Something on this path is a file, not a folder.')
    }
  }

  /** Runs `work` while no other call changes this path. @template T @param {StoragePath} path @param {AbortSignal} signal @param {() => Promise<T>} work */
  async #inTurn(path, signal, work) {
    return await this.host.exclusively(this.store + path, { signal }, work)
  }
}

/** @param {Readable} body */
async function collected(body) {
  /** @type {Buffer[]} */
  const pieces = []
  let size = 0
  for await (const bytes of body) {
    size += bytes.length
    if (size > maxBytesInOne) {
      const message = `OpenDAL stores files of up to ${maxBytesInOne} bytes in this service.`
      throw new StorageError('QUOTA_EXCEEDED', message)
    }
    pieces.push(bytes)
  }
  return Buffer.concat(pieces)
}

/** OpenDAL trims paths and reads a backslash as a slash. A control character makes some services fail to list the folder. @param {string} name */
function isStorable(name) {
  const isKept = name !== '' && !/[/\\\p{Cc}]|^\s|\s$/u.test(name)
  return isKept && Buffer.byteLength(name) <= 255 && !name.startsWith(stagingPrefix)
}

/** @param {StoragePath} path */
function refuseNames(path) {
  if (segmentsOf(path).every(isStorable)) return
  const message =
    'OpenDAL stores no names that begin or end with white space, contain a backslash or control character, or have more than 255 bytes.'
  throw new StorageError('INVALID_PATH', message)
}

/** @param {'PRECONDITION_FAILED' | 'UNAVAILABLE'} code */
function changed(code) {
  return new StorageError(code, 'The file changed while it was read: read it again.')
}

/** @param {unknown} error @returns {never} */
function orExists(error) {
  if (!hasCode(error, 'PRECONDITION_FAILED')) throw error
  throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause: error })
}

// @ts-check
/** @import { Entry, ReadResult, StoragePath, StorageProvider } from 'stowage/adapter' */
/** @import { Service } from './service.js' */
import { addAbortSignal, Readable } from 'node:stream'
import { orAborted, StorageError } from 'stowage/adapter'
import { hasCode, translated } from './errors.js'
import { chunkBytes } from './service.js'

/** Attempts to read a file that is replaced after its entry was read. */
const maxAttempts = 11

/** @typedef {Parameters<StorageProvider['read']>[1]} ReadOptions */

/** @param {Service} service @param {StoragePath} path @param {ReadOptions} options @returns {Promise<ReadResult>} */
export async function read(service, path, options) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readVersion(service, path, options)
    } catch (error) {
      const isReplaced = options.ifMatch === undefined && hasCode(error, 'PRECONDITION_FAILED')
      if (attempt === maxAttempts || !isReplaced) throw error
    }
  }
}

/** @param {Service} service @param {StoragePath} path @param {ReadOptions} options @returns {Promise<ReadResult>} */
async function readVersion(service, path, { signal, range, ifMatch }) {
  const entry = await service.stat(path, signal)
  if (entry.kind === 'directory') throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
  if (ifMatch !== undefined && ifMatch !== entry.etag) throw changed('PRECONDITION_FAILED')
  const size = entry.size ?? 0
  if (range && range.offset >= size) throw new StorageError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes.`)
  const start = range?.offset ?? 0
  const end = range?.length === undefined ? size : Math.min(size, start + range.length)
  const readAt = (/** @type {number} */ offset) => readChunk(service, path, entry, { offset, end, signal })
  const first = start < end ? await readAt(start) : Buffer.alloc(0)
  async function* chunks() {
    if (first.length > 0) yield first
    for (let offset = start + chunkBytes; offset < end; offset += chunkBytes) {
      yield await readAt(offset).catch(error => {
        throw hasCode(error, 'PRECONDITION_FAILED') ? changed('UNAVAILABLE') : error
      })
    }
  }
  return { body: addAbortSignal(signal, Readable.from(chunks(), { objectMode: false })), entry }
}

/**
 * @param {Service} service
 * @param {StoragePath} path
 * @param {Entry} entry
 * @param {{ offset: number, end: number, signal: AbortSignal }} options
 */
async function readChunk(service, path, entry, { offset, end, signal }) {
  const length = Math.min(chunkBytes, end - offset)
  const isConditional = service.can.readWithIfMatch && entry.etag !== null
  const options = {
    offset: BigInt(offset),
    size: BigInt(length),
    ...(isConditional && { ifMatch: `"${entry.etag}"` }),
  }
  const bytes = await orAborted(translated(service.operator.read(path, options)), signal)
  if (bytes.length !== length) throw changed('PRECONDITION_FAILED')
  if (isConditional) return bytes
  const found = await service.find(path, signal)
  const isSame =
    found?.size === entry.size &&
    found.etag === entry.etag &&
    found.modifiedAt?.getTime() === entry.modifiedAt?.getTime()
  if (!isSame) throw changed('PRECONDITION_FAILED')
  return bytes
}

/** @param {'PRECONDITION_FAILED' | 'UNAVAILABLE'} code */
function changed(code) {
  return new StorageError(code, 'The file changed while it was read: read it again.')
}

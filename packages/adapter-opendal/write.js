// @ts-check
/** @import { Readable } from 'node:stream' */
/** @import { Entry, StoragePath, StorageProvider } from 'stowage/adapter' */
/** @import { Service } from './service.js' */
import { randomUUID } from 'node:crypto'
import { addAbortSignal } from 'node:stream'
import { StorageError } from 'stowage/adapter'
import { hasCode, translated } from './errors.js'
import { chunkBytes, stagingPrefix } from './service.js'

/** Bytes of the largest file in services to which OpenDAL sends a file in one request, from memory. */
export const maxBytesInOne = 32 * 1024 * 1024

/** @typedef {Parameters<StorageProvider['write']>[2]} WriteOptions */

/** @param {Service} service @param {StoragePath} path @param {Readable} body @param {WriteOptions} options @returns {Promise<Entry>} */
export async function write(service, path, body, { signal, mimeType, overwrite }) {
  const { operator, can } = service
  const staged = can.rename ? stagingPrefix + randomUUID() : path
  try {
    signal.throwIfAborted()
    await service.refuse(path, overwrite, signal)
    const isAtomic = !can.rename && can.writeWithIfNotExists
    const options = {
      ...(mimeType && can.writeWithContentType && { contentType: mimeType }),
      ...(isAtomic && !overwrite && { ifNotExists: true }),
      // A file of up to one chunk takes one request.
      ...(can.writeCanMulti && { chunk: BigInt(chunkBytes) }),
    }
    const writer = await translated(operator.writer(staged, options))
    addAbortSignal(signal, body)
    if (can.writeCanMulti) for await (const bytes of body) await translated(writer.write(bytes))
    else await translated(writer.write(await collected(body)))
    signal.throwIfAborted()
    if (isAtomic) await translated(writer.close()).catch(orExists)
    else {
      if (can.rename) await translated(writer.close())
      await service.inTurn(path, signal, async () => {
        await service.refuse(path, overwrite, signal)
        if (can.rename) await translated(operator.rename(staged, path))
        else await translated(writer.close())
      })
    }
    return await service.stat(path, new AbortController().signal)
  } catch (error) {
    body.destroy()
    if (staged !== path) await operator.delete(staged).catch(() => {})
    throw signal.aborted ? signal.reason : error
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

/** @param {unknown} error @returns {never} */
function orExists(error) {
  if (!hasCode(error, 'PRECONDITION_FAILED')) throw error
  throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause: error })
}

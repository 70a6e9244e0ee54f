import { Readable } from 'node:stream'
import { changedMeanwhile } from '../../bases/cloud/errors.ts'
import type { ReadOptions } from '../../bases/cloud/provider.ts'
import { changed, notAFile, notFound, positionsOf } from '../../bases/errors.ts'
import { nameOf, type ReadResult, type StoragePath } from '../../contract.ts'
import { type DriveItem, isFolder, isShown, toEntry } from './entry.ts'
import { isRefused } from './errors.ts'
import type { DriveItems } from './items.ts'

/**
 * Reads a file from the address in its item, which is itself the permission.
 * @param attempts how often the read begins again if the file changes before its first byte
 */
export async function readFile(
  items: DriveItems,
  path: StoragePath,
  options: ReadOptions,
  attempts = 3,
): Promise<ReadResult> {
  const { range, ifMatch, signal } = options
  const item = await items.look(path, signal, '')
  if (!item || !isShown(item)) throw notFound()
  if (isFolder(item)) throw notAFile()
  const entry = toEntry(nameOf(path), item)
  if (ifMatch !== undefined && ifMatch !== entry.etag) throw changed()
  const { start, end } = positionsOf(entry.size ?? 0, range)
  const expected = end - start
  if (expected === 0) return { body: Readable.from([], { objectMode: false }), entry }
  const { body, length } = await open(items, item, range && `bytes=${start}-${end - 1}`, signal)
  if (length !== null && Number(length) !== expected) {
    body.destroy()
    if (ifMatch !== undefined) throw changed()
    if (attempts === 1) throw changedMeanwhile()
    return await readFile(items, path, options, attempts - 1)
  }
  try {
    // The download began after the first look. Its bytes have this etag only if the file has not changed since.
    if (ifMatch !== undefined) await requireSame(items, item, signal)
    return { body, entry }
  } catch (error) {
    body.destroy()
    throw error
  }
}

async function open(items: DriveItems, item: DriveItem, range: string | undefined, signal: AbortSignal) {
  const address = item['@microsoft.graph.downloadUrl']
  const request = { headers: range === undefined ? {} : { range }, stream: true, signal }
  try {
    const { body, headers } = await (address === undefined
      ? items.http.request({ ...request, url: items.idAddress(item.id, 'content') })
      : items.http.request({ ...request, url: address, isPermission: true }))
    return { body: body ?? Readable.from([]), length: headers.get('content-length') }
  } catch (error) {
    if (isRefused(error, 404)) throw notFound()
    if (isRefused(error, 416)) throw changedMeanwhile()
    throw error
  }
}

async function requireSame(items: DriveItems, { id, cTag }: DriveItem, signal: AbortSignal): Promise<void> {
  const { data } = await items.http.request({ url: `${items.idAddress(id)}?$select=id,cTag`, signal }).catch(error => {
    throw isRefused(error, 404) ? changed() : error
  })
  if ((data as DriveItem).cTag !== cTag) throw changed()
}

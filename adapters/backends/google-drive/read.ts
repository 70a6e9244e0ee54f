import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { changedMeanwhile } from '../../bases/cloud/errors.ts'
import type { ReadOptions } from '../../bases/cloud/provider.ts'
import { changed, hasCode, notFound, positionsOf } from '../../bases/errors.ts'
import { type ReadResult, StorageError } from '../../contract.ts'
import { asStorageError, common, type DriveFiles, fileUrl } from './files.ts'
import type { DriveFile } from './names.ts'
import { etagOf, exportTypeOf, isDoc, toEntry } from './names.ts'

interface FileOptions extends ReadOptions {
  /** The name in the path. */
  name: string
}

/** @param attempts how often the read begins again if the file changes before its first byte */
export async function readFile(
  files: DriveFiles,
  file: DriveFile,
  options: FileOptions,
  attempts = 3,
): Promise<ReadResult> {
  if (isDoc(file)) return await readDoc(files, file, options)
  const { name, range, ifMatch, signal } = options
  if (ifMatch !== undefined && ifMatch !== etagOf(file)) throw changed()
  const entry = toEntry(name, file)
  const { start, end } = positionsOf(entry.size ?? 0, range)
  const headers = range ? { range: `bytes=${start}-${end - 1}` } : {}
  const { body, length } = await open(files, fileUrl(file.id), { alt: 'media' }, headers, signal)
  if (length !== null && Number(length) !== end - start) {
    body.destroy()
    if (ifMatch !== undefined) throw changed()
    const now = await files.find(file.id, signal)
    if (!now) throw notFound()
    if (attempts === 1) throw changedMeanwhile()
    return await readFile(files, now, options, attempts - 1)
  }
  if (ifMatch === undefined) return { body, entry }
  // The download began after the first lookup. Its bytes have this etag only if the file has not changed since.
  try {
    const now = await files.find(file.id, signal)
    if (!now || etagOf(now) !== ifMatch) throw changed()
    return { body, entry }
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** Reads an export. Google exports no ranges, so this buffers the whole export, of at most 10 MB, and cuts it. */
async function readDoc(files: DriveFiles, file: DriveFile, options: FileOptions): Promise<ReadResult> {
  const { name, range, ifMatch, signal } = options
  const mimeType = exportTypeOf(file.mimeType)
  if (mimeType === undefined) {
    const message = 'Google has no download for this kind of document: open it in Google Drive.'
    throw new StorageError('PERMISSION_DENIED', message)
  }
  if (ifMatch !== undefined) throw changed()
  const entry = toEntry(name, file)
  const { body } = await open(files, `${fileUrl(file.id)}/export`, { mimeType }, {}, signal)
  if (!range) return { body, entry }
  const bytes = await buffer(body)
  const { start, end } = positionsOf(bytes.length, range)
  return { body: Readable.from([bytes.subarray(start, end)], { objectMode: false }), entry }
}

async function open(
  files: DriveFiles,
  url: string,
  query: Record<string, string>,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<{ body: Readable; length: string | null }> {
  try {
    const { body = Readable.from([]), headers: received } = await files.api.request({
      url,
      query: { ...common, ...query },
      headers,
      stream: true,
      signal,
    })
    return { body, length: received.get('content-length') }
  } catch (error) {
    const failure = asStorageError(error)
    throw hasCode(failure, 'NOT_FOUND') ? notFound() : failure
  }
}

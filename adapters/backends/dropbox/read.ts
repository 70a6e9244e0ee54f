import { Readable } from 'node:stream'
import { changed, pastEnd } from '../../bases/cloud/failure.ts'
import { type HttpResponse, RequestFailure } from '../../bases/cloud/http.ts'
import { type ByteRange, nameOf, type ReadResult, StorageError, type StoragePath } from '../../contract.ts'
import type { FileMetadata } from './api.ts'
import { toEntry } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import type { DropboxFiles } from './files.ts'

interface ReadOptions {
  range: ByteRange | undefined
  ifMatch: string | undefined
  signal: AbortSignal
}

/** Downloads a file. The response has the metadata of exactly the version that it sends. */
export async function readFile(files: DropboxFiles, path: StoragePath, options: ReadOptions): Promise<ReadResult> {
  const { range, ifMatch, signal } = options
  const args = { path: files.pathOf(path) }
  let response: HttpResponse & { result: FileMetadata }
  try {
    response = await files.api.download<FileMetadata>('files/download', args, { range: rangeHeader(range), signal })
  } catch (error) {
    const isDocument = error instanceof RequestFailure && isRefusedFor(error.failure, 'unsupported_file')
    if (isDocument) return await readExport(files, path, options)
    throw error
  }
  const { result, headers } = response
  const body = response.body ?? Readable.from([])
  try {
    if (ifMatch !== undefined && ifMatch !== result.rev) throw changed()
    const { size } = result
    if (range && range.offset >= size) throw pastEnd(size)
    const end = range?.length === undefined ? size : Math.min(size, range.offset + range.length)
    const length = headers.get('content-length')
    if (length !== null && Number(length) !== end - (range?.offset ?? 0)) {
      throw new StorageError('UNAVAILABLE', 'Dropbox sent another part of the file than requested: try again.')
    }
    return { body, entry: toEntry(nameOf(path), result) }
  } catch (error) {
    body.destroy()
    throw error
  }
}

function rangeHeader(range: ByteRange | undefined): string | undefined {
  if (!range) return undefined
  const { offset, length } = range
  // The largest safe integer as a length would exceed what servers parse.
  const last = length === undefined ? '' : Math.min(offset + length - 1, Number.MAX_SAFE_INTEGER)
  return `bytes=${offset}-${last}`
}

interface ExportResult {
  export_metadata: { size: number }
  file_metadata: FileMetadata
}

/** Reads an export, of which Dropbox sends no ranges. */
async function readExport(
  files: DropboxFiles,
  path: StoragePath,
  { range, ifMatch, signal }: ReadOptions,
): Promise<ReadResult> {
  if (ifMatch !== undefined) throw changed()
  const response = await files.api.download<ExportResult>('files/export', { path: files.pathOf(path) }, { signal })
  const { export_metadata, file_metadata } = response.result
  const body = response.body ?? Readable.from([])
  const entry = toEntry(nameOf(path), { ...file_metadata, is_downloadable: false })
  if (!range) return { body, entry }
  if (range.offset >= export_metadata.size) {
    body.destroy()
    throw pastEnd(export_metadata.size)
  }
  const part = Readable.from(cut(body, range), { objectMode: false })
  // A part that nobody reads does not end its generator.
  part.once('close', () => body.destroy())
  return { body: part, entry }
}

async function* cut(body: Readable, { offset, length = Infinity }: ByteRange): AsyncGenerator<Buffer> {
  let position = 0
  for await (const chunk of body) {
    const part: Buffer = chunk.subarray(Math.max(0, offset - position), Math.max(0, offset + length - position))
    position += chunk.length
    if (part.length > 0) yield part
    if (position >= offset + length) return
  }
}

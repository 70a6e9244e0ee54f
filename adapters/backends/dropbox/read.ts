import { Readable } from 'node:stream'
import { bodyOfLength, type HttpResponse, RequestFailure } from '../../bases/cloud/client.ts'
import type { ReadOptions } from '../../bases/cloud/provider.ts'
import { changed, positionsOf, rangeHeader } from '../../bases/errors.ts'
import { type ByteRange, nameOf, type ReadResult, type StoragePath } from '../../contract.ts'
import type { FileMetadata } from './api.ts'
import { toEntry } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import type { DropboxFiles } from './files.ts'

/** Downloads a file. The response has the metadata of exactly the version that it sends. */
export async function readFile(files: DropboxFiles, path: StoragePath, options: ReadOptions): Promise<ReadResult> {
  const { range, signal } = options
  const args = { path: files.pathOf(path) }
  let response: HttpResponse & { result: FileMetadata }
  try {
    response = await files.api.download<FileMetadata>('files/download', args, {
      range: range && rangeHeader(range),
      signal,
    })
  } catch (error) {
    const isDocument = error instanceof RequestFailure && isRefusedFor(error.failure, 'unsupported_file')
    if (isDocument) return await readExport(files, path, options)
    throw error
  }
  return { body: bodyOf(response, options), entry: toEntry(nameOf(path), response.result) }
}

/** Downloads a revision. @throws RequestFailure */
export async function readRevision(
  files: DropboxFiles,
  rev: string,
  { signal, range }: Pick<ReadOptions, 'signal'> & { range?: ByteRange | undefined },
): Promise<{ body: Readable; metadata: FileMetadata }> {
  const options = { signal, range: range && rangeHeader(range) }
  const response = await files.api.download<FileMetadata>('files/download', { path: `rev:${rev}` }, options)
  return { body: bodyOf(response, { range, ifMatch: rev }), metadata: response.result }
}

/** @throws PRECONDITION_FAILED; UNAVAILABLE for another part than the requested one */
function bodyOf(
  response: HttpResponse & { result: FileMetadata },
  { range, ifMatch }: Pick<ReadOptions, 'range' | 'ifMatch'>,
): Readable {
  const { result, body } = response
  try {
    if (ifMatch !== undefined && ifMatch !== result.rev) throw changed()
    const { start, end } = positionsOf(result.size, range)
    return bodyOfLength(response, end - start, 'Dropbox')
  } catch (error) {
    body?.destroy()
    throw error
  }
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
  try {
    const part = Readable.from(cut(body, positionsOf(export_metadata.size, range)), { objectMode: false })
    // A part that nobody reads does not end its generator.
    part.once('close', () => body.destroy())
    return { body: part, entry }
  } catch (error) {
    body.destroy()
    throw error
  }
}

async function* cut(body: Readable, { start, end }: { start: number; end: number }): AsyncGenerator<Buffer> {
  let position = 0
  for await (const chunk of body) {
    const part: Buffer = chunk.subarray(Math.max(0, start - position), Math.max(0, end - position))
    position += chunk.length
    if (part.length > 0) yield part
    if (position >= end) return
  }
}

import { PassThrough, pipeline, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type ByteRange, type ReadResult, StorageError } from '../contract.ts'
import type { DriveFile } from './api.ts'
import { exportTypeOf } from './docs.ts'
import { etagOf, toEntry } from './entry.ts'
import { notFound } from './errors.ts'
import { common, type DriveFiles, fileUrl, translated } from './files.ts'
import { isDoc } from './names.ts'

export interface ReadOptions {
  name: string
  range: ByteRange | undefined
  ifMatch: string | undefined
  signal: AbortSignal
}

const changed = () => new StorageError('PRECONDITION_FAILED', 'The file is no longer the one that was asked for.')
const changedMeanwhile = () => new StorageError('UNAVAILABLE', 'The file changed while it was being read: try again.')
const past = (size: number) =>
  new StorageError('RANGE_NOT_SATISFIABLE', `The range begins past the end: the file has ${size} bytes.`)

export async function readFile(files: DriveFiles, file: DriveFile, options: ReadOptions): Promise<ReadResult> {
  if (isDoc(file)) return await readDoc(files, file, options)
  const { name, range, ifMatch, signal } = options
  if (ifMatch !== undefined && ifMatch !== etagOf(file)) throw changed()
  const entry = toEntry(name, file)
  const size = entry.size ?? 0
  if (range && range.offset >= size) throw past(size)
  const end = range?.length === undefined ? size : Math.min(size, range.offset + range.length)
  const expected = end - (range?.offset ?? 0)
  const headers = range ? { range: `bytes=${range.offset}-${end - 1}` } : {}
  const { body, length } = await open(files, fileUrl(file.id), { alt: 'media' }, headers, signal)
  if (length !== null && Number(length) !== expected) {
    body.destroy()
    throw ifMatch === undefined ? changedMeanwhile() : changed()
  }
  if (ifMatch === undefined) return { body, entry }
  // The bytes began to come after the first look: only if nothing changed since are they the ones of this etag.
  try {
    const now = await files.find(file.id, signal)
    if (!now || etagOf(now) !== ifMatch) throw changed()
    return { body, entry }
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** An export knows no ranges: 10 MB at most are taken and cut. */
async function readDoc(files: DriveFiles, file: DriveFile, options: ReadOptions): Promise<ReadResult> {
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
  if (range.offset >= bytes.length) throw past(bytes.length)
  const end = range.length === undefined ? bytes.length : range.offset + range.length
  return { body: Readable.from([bytes.subarray(range.offset, end)], { objectMode: false }), entry }
}

async function open(
  files: DriveFiles,
  url: string,
  query: Record<string, string>,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<{ body: Readable; length: string | null }> {
  try {
    const answer = await files.api.request<Readable>({
      url,
      query: { ...common, ...query },
      headers,
      stream: true,
      signal,
    })
    return {
      body: unlessStalled(answer.data, files.api.timeouts.stall),
      length: answer.headers.get('content-length'),
    }
  } catch (error) {
    const told = translated(error)
    throw told instanceof StorageError && told.code === 'NOT_FOUND' ? notFound() : told
  }
}

/** Ends what sends nothing for `stall` milliseconds, unless it is the reader who takes nothing. */
function unlessStalled(source: Readable, stall: number): Readable {
  let moved = false
  const body = new PassThrough({
    transform(chunk, _encoding, done) {
      moved = true
      done(null, chunk)
    },
  })
  const timer = setInterval(() => {
    const isReaders = body.readableLength > 0
    if (!moved && !isReaders)
      source.destroy(new StorageError('UNAVAILABLE', 'Google Drive sends nothing more: try again.'))
    moved = false
  }, stall).unref()
  pipeline(source, body, () => clearInterval(timer))
  return body
}

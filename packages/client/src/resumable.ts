/** Resumable uploads with the tus protocol 1.0 (https://tus.io/protocols/resumable-upload). */

import { type Chunk, ChunkSize, chunksOf } from './chunks.ts'
import { invalidResponse, StowageError } from './error.ts'
import { type RetryOptions, type ShouldRetry, waitToRetry, withRetries } from './retry.ts'
import type { Transport } from './transport.ts'

/** Continues an upload in another call, also of another process. */
export interface UploadResume {
  /** The address of an unfinished upload of the same bytes. If the server no longer has it, the upload starts again. */
  url?: string | undefined
  /** Called with the address of the upload before any bytes are sent. Not called for a file that is sent in one request. */
  onStart: (url: string) => void | Promise<void>
}

/** The options of an upload. */
export interface SendOptions {
  /** In Node.js, `openAsBlob(path)` of `node:fs` opens a file without reading it. */
  body: Blob | ReadableStream<Uint8Array>
  /** The media type. Default: that of the blob. */
  type?: string
  /**
   * Keeps an unfinished upload on the server after an abort or a temporary failure, so that another call can continue it.
   * Only for blobs.
   */
  resume?: UploadResume
  signal?: AbortSignal
  /**
   * Called with the bytes that are sent, and with the size if it is known: several times a second in browsers, and elsewhere
   * after each chunk. A failure can decrease the bytes, because some of them are sent again.
   */
  onProgress?: (sent: number, size: number | null) => void
  /**
   * Decides whether to try again after an error, instead of `retries`. `failures` is the number of failures since the server
   * stored bytes.
   */
  shouldRetry?: ShouldRetry
}

/** The address at which an upload begins, and the name of its file. */
interface ResumableTarget {
  /** A path of the server. */
  collection: string
  metadata: Readonly<Record<string, string>>
}

const version = { 'tus-resumable': '1.0.0' }

/** @throws StowageError */
export async function uploadInChunks(
  transport: Transport,
  target: ResumableTarget,
  options: SendOptions,
): Promise<string> {
  const { body, signal, onProgress, resume } = options
  const retry = transport.retryOf(options)
  const size = body instanceof Blob ? body.size : null
  const unfinished = body instanceof Blob ? await findUnfinished(transport, options, body.size) : null
  if (unfinished && unfinished.path !== null) return unfinished.path
  const url = unfinished?.url ?? (await create(transport, target, options, size))
  let offset = unfinished?.offset ?? 0
  /** The request with the latest chunk. At most one more is under way, with the chunk before it. */
  let current: Promise<string | null> = Promise.resolve(null)
  try {
    await resume?.onStart(url)
    if (offset > 0) onProgress?.(offset, size)
    const chunkSize = new ChunkSize()
    for await (const chunk of chunksOf(body instanceof Blob ? body.slice(offset) : body, chunkSize, signal)) {
      const begin = offset
      const end = begin + chunk.bytes.size
      const before = current
      // The next chunk begins when all bytes of this one are sent, while the server still stores them.
      await new Promise<void>((resolve, reject) => {
        const onSent = (sent: number) => {
          onProgress?.(begin + sent, size)
          if (begin + sent === end) resolve()
        }
        current = sendChunk(
          transport,
          url,
          { ...chunk, offset, chunkSize, before, onSent: onProgress && onSent },
          retry,
        )
        current.then(() => resolve(), reject)
      })
      await before
      offset = end
      onProgress?.(offset, chunk.isLast ? offset : size)
      if (chunk.isLast) return (await current) ?? (await storedPath(transport, url, signal))
    }
    throw new Error('The chunks have no end')
  } catch (error) {
    await current.catch(() => {})
    const mayContinue = signal?.aborted || (error instanceof StowageError && error.retryable)
    if (!(resume && mayContinue)) await discardUpload(transport, url).catch(() => {})
    throw error
  }
}

/** Deletes an unfinished upload. @throws StowageError */
export async function discardUpload(transport: Transport, url: string): Promise<void> {
  const response = await transport.send(url, { method: 'DELETE', headers: version })
  await response.body?.cancel()
}

/** Returns the state of the upload that the caller wants to continue; null if the server no longer has it. */
async function findUnfinished(transport: Transport, options: SendOptions, size: number) {
  const url = options.resume?.url
  if (url === undefined) return null
  try {
    const state = await withRetries(() => head(transport, url, options.signal), transport.retryOf(options))
    return state.size === size ? { ...state, url } : null
  } catch (error) {
    if (error instanceof StowageError && error.status === 404) return null
    throw error
  }
}

/** Resolves with the address of the upload. */
async function create(
  transport: Transport,
  { collection, metadata: named }: ResumableTarget,
  options: SendOptions,
  size: number | null,
): Promise<string> {
  const { body, signal } = options
  const type = options.type ?? (body instanceof Blob ? body.type : '')
  const metadata = { ...named, ...(type !== '' && { filetype: type }) }
  const headers = {
    ...version,
    ...(size === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(size) }),
    'upload-metadata': Object.entries(metadata)
      .map(([name, value]) => `${name} ${base64(value)}`)
      .join(','),
  }
  const init = { method: 'POST', headers, ...(signal && { signal }) }
  // A repeated creation takes over the upload of a lost response.
  const send = () => transport.request(transport.urlOf(collection), init)
  const response = await withRetries(send, transport.retryOf(options))
  const location = response.headers.get('location')
  if (location === null) throw invalidResponse('The response has no address of the upload.', response)
  // A proxy may serve the API below a path that the server knows or not, so only the ID counts.
  return transport.urlOf(`${collection}/${location.slice(location.lastIndexOf('/') + 1)}`)
}

interface ChunkToSend extends Chunk {
  /** Bytes of the file before the chunk. */
  offset: number
  chunkSize: ChunkSize
  /** The request with the chunk before. */
  before: Promise<unknown>
  onSent: ((bytes: number) => void) | undefined
}

/** Sends a chunk, the rest of it after a failure in smaller pieces. Resolves with the path of the file if it is stored. */
async function sendChunk(
  transport: Transport,
  url: string,
  { bytes, isLast, offset, chunkSize, before, onSent }: ChunkToSend,
  retry: RetryOptions,
): Promise<string | null> {
  const { signal } = retry
  let sent = 0
  let isAlone = false
  for (let failures = 1; ; failures += 1) {
    const piece = bytes.slice(sent, sent + chunkSize.bytes)
    try {
      const end = sent + piece.size
      const headers = {
        ...version,
        'content-type': 'application/offset+octet-stream',
        'upload-offset': String(offset + sent),
        ...(isLast && { 'upload-length': String(offset + bytes.size) }),
      }
      const init = { method: 'PATCH', headers, body: piece, ...(signal && { signal }) }
      const before = sent
      const onSentOfRest = onSent && ((bytes: number) => onSent(before + bytes))
      const start = performance.now()
      const path = pathOf(await transport.request(url, init, onSentOfRest))
      chunkSize.grow(piece.size, performance.now() - start)
      if (end === bytes.size) return path
      sent = end
      failures = 0
      continue
    } catch (error) {
      // The server refuses bytes after a gap, so this request may have failed only because the one before did.
      await before
      // A proxy may refuse a body that grew beyond its limit.
      const isTooLarge = error instanceof StowageError && error.status === 413 && chunkSize.forbid(piece.size)
      const isGap = error instanceof StowageError && error.reason === 'OFFSET_MISMATCH' && !isAlone
      isAlone = true
      if (!isTooLarge && !isGap) {
        await waitToRetry(error, failures, retry)
        chunkSize.shrink()
      }
    }
    const state = await withRetries(() => head(transport, url, signal), retry)
    if (state.path !== null) return state.path
    if (state.offset > offset + sent) failures = 0
    sent = state.offset - offset
    if (!(sent >= 0 && sent <= bytes.size)) throw state.invalid
  }
}

async function storedPath(transport: Transport, url: string, signal: AbortSignal | undefined): Promise<string> {
  const { path, invalid } = await head(transport, url, signal)
  if (path === null) throw invalid
  return path
}

async function head(transport: Transport, url: string, signal: AbortSignal | undefined) {
  const response = await transport.request(url, { method: 'HEAD', headers: version, ...(signal && { signal }) })
  const invalid = invalidResponse('The server lost a part of the upload: start it again.', response)
  const numberIn = (name: string) => Number(response.headers.get(name) ?? Number.NaN)
  return { offset: numberIn('upload-offset'), size: numberIn('upload-length'), path: pathOf(response), invalid }
}

function pathOf({ headers }: Response): string | null {
  const path = headers.get('upload-stored-path')
  return path === null ? null : decodeURIComponent(path)
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

import { invalidResponse, networkError } from './error.ts'
import type { Location } from './list.ts'
import { waitToRetry, withRetries } from './retry.ts'
import type { Transport } from './transport.ts'
import type { Digest } from './verify.ts'

interface Range {
  start: number
  end?: number
}

/** The options of a download. */
export interface ReadOptions {
  /** The first byte, and the last one or the end of the file. Not for folders. */
  range?: Range
  /** Whether to compare the content with the checksum that the server reports. Default: true. */
  verify?: boolean
  signal?: AbortSignal
}

export interface DownloadOptions extends Location, ReadOptions {
  /** The ID of an earlier version of the file. Default: its content now. */
  version?: string
}

export interface Download {
  /** The content. It fails with a StowageError if it cannot be completed or differs from its checksum. */
  body: ReadableStream<Uint8Array>
  /** The bytes of `body`; null for a folder, which is sent as a ZIP archive, and if the back end does not report it. */
  size: number | null
  /** The bytes of the whole file; null if `size` is null. */
  fileSize: number | null
  type: string | null
  etag: string | null
  modifiedAt: Date | null
}

/**
 * Downloads a file, or a folder as a ZIP archive. If the connection breaks, the download continues where it stopped, as
 * long as the file is the same.
 * @param url the address of the content
 * @throws StowageError
 */
export async function download(transport: Transport, url: string, options: ReadOptions): Promise<Download> {
  const { range, verify = true, signal } = options
  const response = await withRetries(() => open(transport, url, options), transport.retryOf({ signal }))
  const { headers, status } = response
  const expected = verify && !range ? digestOf(headers) : null
  const chunks = continued(transport, url, options, response)
  // A file whose size the back end does not report has no ranges.
  const content = streamOf(range && status !== 206 ? cut(chunks, range) : chunks)
  const modified = headers.get('last-modified')
  return {
    body: expected ? content.pipeThrough(await verification(expected, response)) : content,
    size: numberIn(headers.get('content-length')),
    fileSize: numberIn(status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length')),
    type: headers.get('content-type'),
    etag: headers.get('etag'),
    modifiedAt: modified === null ? null : new Date(modified),
  }
}

/** Loads the code of the digests only if it is needed. */
async function verification(expected: Digest, response: Response): Promise<TransformStream<Uint8Array, Uint8Array>> {
  const { verifying } = await import('./verify.ts').catch(cause => {
    throw networkError('A part of the client could not be loaded. Check your connection, then try again.', cause)
  })
  return verifying(expected, response)
}

/** A member of a dictionary whose value is a byte sequence (RFC 9651). */
const member = /^([a-z0-9-]+)=:([A-Za-z0-9+/=]*):$/

/** Reads the strongest digest of the whole file; null if the server sent none. */
function digestOf(headers: Headers): Digest | null {
  const items = (headers.get('repr-digest') ?? '').split(',').map(item => member.exec(item.trim()))
  const sent = new Map(items.flatMap(item => (item ? [[item[1], item[2] ?? '']] : [])))
  for (const algorithm of ['sha-256', 'md5'] as const) {
    const base64 = sent.get(algorithm)
    if (base64 !== undefined) return { algorithm, base64 }
  }
  return null
}

function open(
  transport: Transport,
  url: string,
  { range, signal }: ReadOptions,
  rest?: { start: number; etag: string },
): Promise<Response> {
  const start = rest?.start ?? range?.start
  const headers = {
    'want-repr-digest': 'sha-256=10, md5=1',
    ...(start !== undefined && { range: `bytes=${start}-${range?.end ?? ''}` }),
    ...(rest && { 'if-range': rest.etag }),
  }
  return transport.request(url, {
    headers,
    // Browsers request only as many bytes as a cached earlier version had.
    ...(start !== undefined && { cache: 'no-store' as const }),
    ...(signal && { signal }),
  })
}

/** Yields the content, and requests the rest of it when the connection breaks. */
async function* continued(transport: Transport, url: string, options: ReadOptions, first: Response) {
  const { range, signal } = options
  const retry = transport.retryOf({ signal })
  const etag = first.headers.get('etag')
  const canContinue = etag?.startsWith('"') === true && first.headers.get('accept-ranges') === 'bytes'
  let position = first.status === 206 ? (range?.start ?? 0) : 0
  let response = first
  for (let failures = 1; ; failures += 1) {
    try {
      for await (const chunk of chunksOf(response)) {
        position += chunk.length
        failures = 1
        yield chunk
      }
      return
    } catch (error) {
      if (!canContinue) throw error
      await waitToRetry(error, failures, retry)
    }
    const rest = { start: position, etag }
    response = await withRetries(() => open(transport, url, options, rest), retry)
    if (response.status !== 206)
      throw invalidResponse('The file changed while it was downloaded: start again.', response)
  }
}

/** Yields the bytes of a range of the content. */
async function* cut(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  { start, end = Number.POSITIVE_INFINITY }: Range,
) {
  let position = 0
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, start - position), Math.max(0, end + 1 - position))
    position += chunk.length
    if (part.length > 0) yield part
    if (position > end) return
  }
}

function numberIn(text: string | null | undefined): number | null {
  return text && /^\d+$/.test(text) ? Number(text) : null
}

/** @throws StowageError if the connection breaks */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (!body) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(cause => {
        throw networkError('The connection broke during the download.', cause)
      })
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** `ReadableStream.from` is missing in some browsers. */
function streamOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return()
    },
  })
}

export interface ArchiveOptions {
  providerId: string
  /** The absolute paths of files and folders of the provider. */
  paths: readonly string[]
  signal?: AbortSignal
}

/**
 * Downloads several files and folders as one ZIP archive. A broken connection cannot be continued, because the server creates
 * the archive on the fly.
 * @throws StowageError
 */
export function archive(
  transport: Transport,
  { providerId, paths, signal }: ArchiveOptions,
): Promise<ReadableStream<Uint8Array>> {
  return requestArchive(transport, transport.urlOf('/api/download/archive'), { providerId, paths }, signal)
}

/** Downloads the archive that `body` describes. @throws StowageError */
export async function requestArchive(
  transport: Transport,
  url: string,
  body: object,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const request = () =>
    transport.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
  return streamOf(chunksOf(await withRetries(request, transport.retryOf({ signal }))))
}

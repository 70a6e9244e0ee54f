import { invalidResponse, networkError, StowageError } from './error.ts'
import type { Location } from './location.ts'
import { delayOf, sleep, withRetries } from './retry.ts'
import type { Transport } from './transport.ts'
import { digestOf, verifying } from './verify.ts'

export interface DownloadOptions extends Location {
  /** The first byte, and the last one or the end of the file. Not for folders. */
  range?: { start: number; end?: number }
  /** Whether to compare the content with the checksum that the server reports. Default: true. */
  verify?: boolean
  signal?: AbortSignal
}

export interface Download {
  /** The content. It fails with a StowageError if it cannot be completed or differs from its checksum. */
  body: ReadableStream<Uint8Array>
  /** The bytes of `body`; null for a folder, which is sent as a ZIP archive. */
  size: number | null
  type: string | null
  etag: string | null
  modifiedAt: Date | null
}

/**
 * Downloads a file, or a folder as a ZIP archive. If the connection breaks, the download continues where it stopped, as
 * long as the file is the same.
 * @throws StowageError
 */
export async function download(transport: Transport, options: DownloadOptions): Promise<Download> {
  const { range, verify = true, signal } = options
  const response = await withRetries(() => open(transport, options), { retries: transport.retries, signal })
  const { headers } = response
  if (range && response.status !== 206) throw invalidResponse('The server ignored the range.', response)
  const length = headers.get('content-length')
  const size = length === null ? null : Number(length)
  const expected = verify && !range ? digestOf(headers) : null
  const content = streamOf(continued(transport, options, response))
  const modified = headers.get('last-modified')
  return {
    body: expected ? content.pipeThrough(verifying(expected, response)) : content,
    size,
    type: headers.get('content-type'),
    etag: headers.get('etag'),
    modifiedAt: modified === null ? null : new Date(modified),
  }
}

function open(
  transport: Transport,
  { providerId, path, range, signal }: DownloadOptions,
  rest?: { start: number; etag: string },
): Promise<Response> {
  const url = transport.urlOf('/api/download/proxy', { providerId, path })
  const start = rest?.start ?? range?.start
  const headers = {
    'want-repr-digest': 'sha-256=10, md5=1',
    ...(start !== undefined && { range: `bytes=${start}-${range?.end ?? ''}` }),
    ...(rest && { 'if-range': rest.etag }),
  }
  return transport.request(url, { headers, ...(signal && { signal }) })
}

/** Yields the content, and requests the rest of it when the connection breaks. */
async function* continued(transport: Transport, options: DownloadOptions, first: Response) {
  const { range, signal } = options
  const etag = first.headers.get('etag')
  const canContinue = etag?.startsWith('"') === true && first.headers.get('accept-ranges') === 'bytes'
  let position = range?.start ?? 0
  let response = first
  for (let failures = 1; ; failures += 1) {
    let failure: StowageError
    try {
      for await (const chunk of chunksOf(response)) {
        position += chunk.length
        failures = 1
        yield chunk
      }
      return
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof StowageError) || !canContinue || failures > transport.retries) throw error
      failure = error
    }
    await sleep(delayOf(failure, failures), signal)
    const reopened = await open(transport, options, { start: position, etag }).catch((error: StowageError) => error)
    if (reopened instanceof Response) {
      if (reopened.status !== 206)
        throw invalidResponse('The file changed while it was downloaded: start again.', reopened)
      response = reopened
    } else if (!reopened.retryable) throw reopened
  }
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

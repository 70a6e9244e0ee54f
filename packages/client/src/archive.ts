import { chunksOf, streamOf } from './download.ts'
import { withRetries } from './retry.ts'
import type { Transport } from './transport.ts'

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

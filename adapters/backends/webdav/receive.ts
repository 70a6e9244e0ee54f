import type { Facts } from '../../bases/plain/files.ts'
import { type Call, StorageError } from '../../contract.ts'
import type { DavClient } from './client.ts'

/** Yields the bytes of a file from `start` on. @param path encoded @throws PRECONDITION_FAILED where the file has changed */
export async function* receive(
  client: DavClient,
  path: string,
  { signal, start, end, facts }: Call & { start: number; end: number; facts: Facts },
): AsyncGenerator<Uint8Array, void, undefined> {
  const isWhole = start === 0 && end === facts.size
  const response = await client.send('GET', path, {
    signal,
    headers: {
      'accept-encoding': 'identity',
      ...(!isWhole && { range: `bytes=${start}-${end - 1}` }),
      ...(facts.etag && { 'if-match': `"${facts.etag}"` }),
    },
  })
  const isPart = response.status === 206
  if (!isSameVersion(facts, response.headers, isPart)) {
    await response.body?.cancel()
    throw new StorageError('PRECONDITION_FAILED', 'The file has changed since.')
  }
  // Servers may send the whole file instead of a part.
  let skip = isPart ? 0 : start
  for await (const chunk of client.content(response)) {
    if (chunk.length > skip) yield chunk.subarray(skip)
    skip = Math.max(0, skip - chunk.length)
  }
}

/** Compares a response with what the server said about the file before. A server with etags has compared the version itself. */
function isSameVersion({ size, modifiedAt, etag }: Facts, headers: Headers, isPart: boolean): boolean {
  const total = isPart ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  const time = Date.parse(headers.get('last-modified') ?? '')
  const isSameSize = total == null || size === null || Number(total) === size
  return isSameSize && (etag != null || Number.isNaN(time) || modifiedAt === null || time === modifiedAt.getTime())
}

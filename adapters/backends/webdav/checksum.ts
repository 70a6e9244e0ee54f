import { createHash, type Hash } from 'node:crypto'
import { type Call, StorageError } from '../../contract.ts'
import type { DavClient } from './client.ts'

/**
 * Stores a body and compares its SHA-1 with the one that the server has computed, if it returns one: Nextcloud does for the
 * header `X-Hash` (Nextcloud's developer manual, "Basic APIs").
 * @throws UNAVAILABLE where the server has stored other bytes
 */
export async function putHashed(
  client: DavClient,
  path: string,
  { signal, headers, body }: Call & { headers: Record<string, string>; body: Buffer | AsyncIterable<Buffer> },
): Promise<void> {
  const hash = createHash('sha1')
  // Bytes in memory may be sent several times.
  const sent = Buffer.isBuffer(body) ? body : hashed(body, hash)
  if (Buffer.isBuffer(body)) hash.update(body)
  const response = await client.run('PUT', path, { signal, headers: { ...headers, 'x-hash': 'sha1' }, body: sent })
  const stored = response.headers.get('x-hash-sha1')
  if (stored === null || stored.toLowerCase() === hash.digest('hex')) return
  throw new StorageError('UNAVAILABLE', 'The server stored other bytes than were sent: send them again.')
}

/** Yields the same bytes, and adds them to a hash. */
export async function* hashed(body: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer, void, undefined> {
  for await (const bytes of body) {
    hash.update(bytes)
    yield bytes
  }
}

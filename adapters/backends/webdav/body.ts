import { createHash, type Hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type Call, orAborted, StorageError } from '../../contract.ts'
import type { DavClient } from './client.ts'

/** Bytes of a body that is read whole before it is sent, so that it can be sent again. */
const smallBytes = 256 * 1024

interface PreparedBody {
  headers: Record<string, string>
  body: Buffer | AsyncIterable<Buffer>
  /** Bytes; undefined where only the end of the body shows them. */
  size: number | undefined
}

/** @param size a hint, in bytes */
export async function prepareBody(body: Readable, { signal, size }: Call & { size?: number }): Promise<PreparedBody> {
  const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const gathered: Buffer[] = []
  let bytes = 0
  while (bytes <= smallBytes) {
    const { done, value } = await orAborted(chunks.next(), signal)
    if (done) {
      const whole = Buffer.concat(gathered)
      const headers = { 'oc-checksum': `SHA1:${createHash('sha1').update(whole).digest('hex')}` }
      return { headers, body: whole, size: whole.length }
    }
    gathered.push(value)
    bytes += value.length
  }
  // The hint can be wrong. A body that is cut there would be stored as a whole one.
  const length = size !== undefined && size >= bytes ? size : undefined
  const headers: Record<string, string> = length === undefined ? {} : { 'content-length': String(length) }
  return { headers, body: untilEnd(chunks, { gathered: Buffer.concat(gathered), size: length }), size: length }
}

/**
 * Yields the last bytes only once the body has ended without an error, because they complete the file.
 * @param options.gathered the bytes that have been read
 * @throws UNAVAILABLE where the body does not have `size` bytes
 */
export async function* untilEnd(
  chunks: AsyncIterator<Buffer>,
  { gathered = Buffer.alloc(0), size }: { gathered?: Buffer; size: number | undefined },
): AsyncGenerator<Buffer> {
  let held: Buffer = gathered
  let sent = 0
  for (;;) {
    const { done, value } = await chunks.next()
    const length = sent + held.length + (done ? 0 : value.length)
    if (size !== undefined && (done ? length !== size : length > size)) {
      throw new StorageError('UNAVAILABLE', `The body has another size than ${size} bytes: send it again.`)
    }
    if (held.length > 0) yield held
    if (done) return
    sent += held.length
    held = value
  }
}

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

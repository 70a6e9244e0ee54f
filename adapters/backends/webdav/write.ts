/** Bodies of requests: small ones are in memory, larger ones are streamed, and those of Nextcloud and ownCloud are sent in chunks. */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { waitForMemory } from '../../bases/objects/part-memory.ts'
import { BodyReader } from '../../bases/objects/parts.ts'
import { type Call, orAborted, StorageError, type StoragePath, type Unfinished } from '../../contract.ts'
import { formatRecord, hashed, maxChunks, newUploadId, type UploadFolders } from './upload-folders.ts'

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
      const content = Buffer.concat(gathered)
      const headers = { 'oc-checksum': `SHA1:${createHash('sha1').update(content).digest('hex')}` }
      return { headers, body: content, size: content.length }
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

const mib = 1024 * 1024
/**
 * Bytes of a request. Proxies in front of Nextcloud accept that much: Cloudflare 100 MB, the web server of Nextcloud's manual 512 MB.
 * Each chunk costs the start of a PHP script, so smaller ones take longer.
 */
export const chunkSize = 64 * mib
/** Bytes of a chunk of a file of unknown size, which is in memory first: Nextcloud needs the length of each. */
const bufferedSize = 16 * mib
/** Milliseconds that such a chunk waits for memory. */
const memoryTime = 60_000

interface LargeBody {
  body: AsyncIterable<Buffer>
  size: number | undefined
}

interface ChunkedWrite extends Call {
  path: StoragePath
  headers: Record<string, string>
  unfinished: Unfinished | undefined
}

type Send = (number: number, content: Buffer | Readable, length: number) => Promise<void>

/** Stores a file in chunks, and creates or replaces it in one step. */
export async function writeInChunks(
  uploads: UploadFolders,
  { body, size }: LargeBody,
  { signal, path, headers, unfinished }: ChunkedWrite,
): Promise<void> {
  const id = newUploadId()
  await unfinished?.began(formatRecord(id))
  try {
    await uploads.begin(id, { signal })
    const hash = createHash('sha1')
    const reader = new BodyReader(hashed(body, hash))
    const send: Send = (number, content, length) =>
      uploads.put(id, number, content, { signal, size: length, total: size })
    const sent = size === undefined ? await sendBuffered(reader, signal, send) : await sendStreamed(reader, size, send)
    // ownCloud compares it with that of the file. Nextcloud stores it.
    const checksum = { 'oc-checksum': `SHA1:${hash.digest('hex')}` }
    await uploads.assemble(id, path, { signal, size: sent, overwrite: true, headers: { ...headers, ...checksum } })
  } catch (error) {
    await uploads.discard(id, unfinished)
    throw error
  }
  await unfinished?.ended()
}

async function sendStreamed(reader: BodyReader, size: number, send: Send): Promise<number> {
  const usual = Math.max(chunkSize, Math.ceil(size / maxChunks))
  for (let [number, sent] = [1, 0]; sent < size; number += 1) {
    const length = Math.min(usual, size - sent)
    await send(number, reader.take(length), length)
    sent += length
  }
  await reader.expectEnd()
  return size
}

async function sendBuffered(reader: BodyReader, signal: AbortSignal, send: Send): Promise<number> {
  const { bytes, release } = await waitForMemory(bufferedSize, signal, memoryTime)
  // A failed request may still read from the memory.
  let reusable = false
  try {
    let sent = 0
    for (let number = 1; ; number += 1) {
      const length = await reader.fill(bytes)
      if (length > 0 && number > maxChunks) throw tooLarge()
      if (length > 0) await send(number, bytes.subarray(0, length), length)
      sent += length
      if (length < bytes.length) break
    }
    reusable = true
    return sent
  } finally {
    release({ reusable })
  }
}

function tooLarge(): StorageError {
  return new StorageError('QUOTA_EXCEEDED', 'The file is too large to be sent without its size: send the size first.')
}

import type { FileHandle } from 'node:fs/promises'
import { addAbortSignal, Readable } from 'node:stream'
import { toStorageError } from './errors.ts'

/** The bytes buffered for one writev(2), which is 1.3 times as fast as one write for each chunk of a socket. */
const blockBytes = 1024 * 1024

/** The bytes that all writes of this process buffer together, as slow writes keep their buffers for long. */
const sharedBytes = 16 * 1024 * 1024
const minBlockBytes = 64 * 1024
let writers = 0

/** IOV_MAX, the maximum number of chunks in one writev(2). It also bounds the memory of a body of tiny chunks. */
const maxChunks = 1024

/**
 * Returns a body that has at most `size` bytes as these bytes, and a longer one as a new body from its beginning. Destroys
 * `body` when it fails.
 */
export async function takeWhole(body: Readable, size: number, signal: AbortSignal): Promise<Uint8Array | Readable> {
  const bytes = new Uint8Array(size)
  let length = 0
  try {
    const chunks: AsyncIterator<Uint8Array | string> = addAbortSignal(signal, body)[Symbol.asyncIterator]()
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      const chunk = typeof next.value === 'string' ? Buffer.from(next.value) : next.value
      if (length + chunk.byteLength > size) return Readable.from(continued([bytes.subarray(0, length), chunk], chunks))
      bytes.set(chunk, length)
      length += chunk.byteLength
    }
  } catch (error) {
    body.destroy()
    throw signal.aborted ? signal.reason : error
  }
  signal.throwIfAborted()
  return length === size ? bytes : bytes.slice(0, length)
}

async function* continued(beginning: Uint8Array[], rest: AsyncIterator<Uint8Array | string>) {
  yield* beginning
  yield* { [Symbol.asyncIterator]: () => rest }
}

/**
 * Writes a body and returns the position after the last byte. It buffers at most two blocks, which are smaller when many
 * writes run. Destroys `body` when it fails.
 */
export async function writeBody(handle: FileHandle, body: Readable, signal: AbortSignal, start = 0): Promise<number> {
  let position = start
  let chunks: Uint8Array[] = []
  let buffered = 0
  let writing: Promise<void> = Promise.resolve()
  const flush = async () => {
    await writing
    writing = writeAll(handle, chunks, position)
    // Fail at once, since the next chunk may arrive much later.
    writing.catch(error => body.destroy(error))
    position += buffered
    chunks = []
    buffered = 0
  }
  writers += 1
  try {
    for await (const chunk of addAbortSignal(signal, body)) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      chunks.push(bytes)
      buffered += bytes.byteLength
      if (buffered >= blockLimit() || chunks.length >= maxChunks) await flush()
    }
    await flush()
    await writing
  } catch (error) {
    body.destroy()
    throw signal.aborted ? signal.reason : error
  } finally {
    writers -= 1
    // The caller closes the handle next.
    await writing.catch(() => {})
  }
  signal.throwIfAborted()
  return position
}

function blockLimit(): number {
  return Math.max(minBlockBytes, Math.min(blockBytes, sharedBytes / writers))
}

/** @throws StorageError for errors of the disk */
export async function writeAll(handle: FileHandle, chunks: readonly Uint8Array[], start: number): Promise<void> {
  let position = start
  let rest = chunks.filter(chunk => chunk.byteLength > 0)
  try {
    while (rest.length > 0) {
      const { bytesWritten } = await handle.writev(rest, position)
      position += bytesWritten
      rest = withoutFirst(rest, bytesWritten)
    }
  } catch (error) {
    // Convert here, as the caller cannot distinguish an error of the disk from one of the body.
    throw toStorageError(error)
  }
}

/** Returns the chunks after the first `bytes`, as a signal or a nearly full disk may cut a write short. */
function withoutFirst(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  const rest: Uint8Array[] = []
  let skip = bytes
  for (const chunk of chunks) {
    if (skip < chunk.byteLength) rest.push(skip > 0 ? chunk.subarray(skip) : chunk)
    skip = Math.max(0, skip - chunk.byteLength)
  }
  return rest
}

import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { ClientGone } from '../connection/client-abort.ts'
import type { Span } from './conditions.ts'

const largest = 1024 * 1024
const smallest = 16 * 1024
/** Bytes that all downloads can use together; beyond them, a download gets the smallest buffers. */
const budget = 32 * 1024 * 1024
/** The number of idle buffers of the largest size to keep. */
const maxIdle = 8

/** Reusable read buffers for a download. Allocating one per chunk would halve the speed. */
interface BufferLease {
  buffers: readonly [Buffer, Buffer]
  /** Pass `reusable: false` if an operation could still read or write the buffers. */
  release(options: { reusable: boolean }): void
}

const idle: Buffer[] = []
let leased = 0

/** Leases two buffers to send `bytes` bytes. They get smaller as more are in use, so the total is bounded. */
function leaseBuffers(bytes: number): BufferLease {
  const size = chooseSize(bytes)
  const take = () => (size === largest ? idle.pop() : undefined) ?? Buffer.allocUnsafeSlow(size)
  const buffers = [take(), take()] as const
  leased += 2 * size
  return {
    buffers,
    release({ reusable }) {
      leased -= 2 * size
      if (reusable && size === largest) idle.push(...buffers.slice(0, maxIdle - idle.length))
    },
  }
}

/** Halves the size until both buffers fit in an eighth of the remaining budget and into the bytes to read. */
function chooseSize(bytes: number): number {
  const share = (budget - leased) / 16
  let size = largest
  while (size > smallest && (size > share || size >= bytes)) size /= 2
  return size
}

/** A destination of bytes: a response, or a ZIP writer in front of one. */
export interface ByteSink {
  /** Calls `done` once the chunk can be reused. */
  write(chunk: Uint8Array, done: (error?: Error | null) => void): unknown
}

/** The content does not match what was announced. The headers were sent, so the connection is cut. */
export class TruncatedContent extends Error {
  override name = 'TruncatedContent'
}

/**
 * Returns a string that changes when the open file is written to, within the resolution of the system's clock (some
 * milliseconds). Replacing or removing the name does not change it, because the open file stays the same.
 */
export async function fileVersion(handle: FileHandle): Promise<string> {
  const { size, mtimeMs } = await handle.stat({ bigint: true })
  return `${size} ${mtimeMs}`
}

/** Returns the version of an entry as `fileVersion` does, or null if the entry does not tell it. */
export function entryVersion({ size, modifiedAt }: { size: number | null; modifiedAt: Date | null }): string | null {
  return size === null || modifiedAt === null ? null : `${size} ${modifiedAt.getTime()}`
}

function failChanged(): never {
  throw new TruncatedContent('The file was written to while it was sent')
}

/**
 * Reads into one buffer while the other is written. Before the last bytes are sent, the version is compared, because the
 * content could otherwise mix two versions.
 * @param onChange runs if the version differs; throws by default
 * @throws TruncatedContent, the signal's reason
 */
export async function sendFile(
  sink: ByteSink,
  { handle, version }: { handle: FileHandle; version: string },
  { first, last }: Span,
  signal: AbortSignal,
  onChange: () => void = failChanged,
): Promise<void> {
  const end = last + 1
  const lease = leaseBuffers(end - first)
  let [current, other] = lease.buffers
  let isWritten = true
  const readAt = async (buffer: Buffer, position: number) => {
    const length = Math.min(buffer.length, end - position)
    return (await handle.read(buffer, 0, length, position)).bytesRead
  }
  let position = first
  let reading = readAt(current, position)
  try {
    while (position < end) {
      const bytes = await reading
      if (bytes === 0) throw new TruncatedContent(`The file ends at ${position} instead of ${end}`)
      position += bytes
      const chunk = current.subarray(0, bytes)
      ;[current, other] = [other, current]
      if (position < end) {
        reading = readAt(current, position)
        // The promise is awaited after the write; until then a rejection would be unhandled.
        reading.catch(() => {})
      } else if ((await fileVersion(handle)) !== version) onChange()
      isWritten = false
      await write(sink, chunk, signal)
      isWritten = true
    }
  } finally {
    // The caller closes the descriptor next, and other downloads reuse the buffers.
    await reading.catch(() => {})
    lease.release({ reusable: isWritten })
  }
}

const sentBytes = new WeakMap<ByteSink, number>()

/** Returns the bytes that `write` has sent to this sink. */
export function bytesWritten(sink: ByteSink): number {
  return sentBytes.get(sink) ?? 0
}

/** Sends the last chunk and ends the response, which takes one system call. @throws ClientGone, the signal's reason */
export function end(response: ServerResponse, chunk: Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    response.end(chunk)
    // The kernel has mostly taken a small response at once, and then nothing more can happen to it.
    const { socket } = response
    if (socket && socket.writableLength === 0 && !socket.destroyed) {
      resolve()
      return
    }
    const settle = (settled: () => void) => () => {
      signal.removeEventListener('abort', onAbort)
      response.off('close', onClose).off('finish', onFinish)
      settled()
    }
    const onAbort = settle(() => reject(signal.reason))
    const onClose = settle(() => reject(new ClientGone('The connection broke')))
    const onFinish = settle(resolve)
    signal.addEventListener('abort', onAbort, { once: true })
    response.once('close', onClose).once('finish', onFinish)
  })
}

/** Resolves when the chunk can be reused. @throws ClientGone, the signal's reason */
export function write(sink: ByteSink, chunk: Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    sink.write(chunk, error => {
      signal.removeEventListener('abort', onAbort)
      if (error) reject(new ClientGone('The connection broke', { cause: error }))
      else {
        sentBytes.set(sink, bytesWritten(sink) + chunk.length)
        resolve()
      }
    })
  })
}

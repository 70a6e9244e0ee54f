import type { FileHandle } from 'node:fs/promises'
import { ClientGone } from '../connection/abort.ts'
import type { Span } from './range.ts'
import { leaseBuffers } from './read-buffers.ts'

/** What takes bytes: a response, or what stands in front of one. */
export interface ByteSink {
  /** `done` is called once the chunk may be used again. */
  write(chunk: Uint8Array, done: (error?: Error | null) => void): unknown
}

/** The back end has fewer bytes than it said, or others: all that can still be done is to cut the connection. */
export class Shortened extends Error {
  override name = 'Shortened'
}

/**
 * What a write into a file changes, as finely as the system's clock of some milliseconds has it. A file that is replaced or
 * removed by its name keeps it: who has it open still reads the old one.
 */
export async function versionOf(handle: FileHandle): Promise<string> {
  const { size, mtimeNs } = await handle.stat({ bigint: true })
  return `${size} ${mtimeNs}`
}

function cutChanged(): never {
  throw new Shortened('The file was written to while it was sent')
}

/**
 * Reads ahead into one buffer while the other is written. Before its last bytes go out the file has to be still the one
 * that it was: else what was sent may be of two versions.
 * @param onChange may also let it pass @throws Shortened, the signal's reason
 */
export async function sendFile(
  sink: ByteSink,
  { handle, version }: { handle: FileHandle; version: string },
  { first, last }: Span,
  signal: AbortSignal,
  onChange: () => void = cutChanged,
): Promise<void> {
  const end = last + 1
  const lease = leaseBuffers(end - first)
  let [current, other] = lease.buffers
  let written = true
  const readAt = async (buffer: Buffer, position: number) => {
    const length = Math.min(buffer.length, end - position)
    return (await handle.read(buffer, 0, length, position)).bytesRead
  }
  let position = first
  let reading = readAt(current, position)
  try {
    while (position < end) {
      const bytes = await reading
      if (bytes === 0) throw new Shortened(`The file ends at ${position} instead of ${end}`)
      position += bytes
      const chunk = current.subarray(0, bytes)
      ;[current, other] = [other, current]
      if (position < end) {
        reading = readAt(current, position)
        // Awaited once the write is done; until then nobody would see it fail.
        reading.catch(() => {})
      } else if ((await versionOf(handle)) !== version) onChange()
      written = false
      await write(sink, chunk, signal)
      written = true
    }
  } finally {
    // The descriptor is closed next, and the buffers go to others.
    await reading.catch(() => {})
    lease.release({ reusable: written })
  }
}

const written = new WeakMap<ByteSink, number>()

/** Bytes of the body that have left the buffer, as far as `write` has sent them. */
export function bytesWritten(sink: ByteSink): number {
  return written.get(sink) ?? 0
}

/** Resolves when the bytes have left the buffer. @throws ClientGone, the signal's reason */
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
        written.set(sink, bytesWritten(sink) + chunk.length)
        resolve()
      }
    })
  })
}

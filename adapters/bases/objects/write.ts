import type { Readable } from 'node:stream'
import type { Entry } from '../../contract.ts'
import { takeMemory, waitForMemory } from './part-memory.ts'
import { BodyReader, fillMemory, type PartLimits, planParts, type SendLimits, type SendOptions } from './parts.ts'

/** An upload in parts that the host has recorded. */
export interface RecordedUpload {
  /** Sends the parts and makes the file visible. */
  store(reader: BodyReader, options: SendOptions): Promise<Entry>
  /** Ends the host's record once the file is stored. */
  ended(): Promise<void>
  /** Frees the parts; never rejects. If it fails, the host frees them later from its record. */
  free(): Promise<void>
}

export interface FileStore {
  limits: PartLimits & SendLimits
  /** Stores a file in one request. */
  putWhole(bytes: Buffer): Promise<Entry>
  begin(): Promise<RecordedUpload>
  /** The bytes of the body, for a driver that looks at them. Default: the body. */
  content?: AsyncIterable<unknown>
}

/**
 * Stores a body in one request if it fits into one part, otherwise in parts. An abort takes effect until the last byte
 * has arrived. After that the write continues to its end, and the caller gets its result.
 */
export async function storeBody(
  store: FileStore,
  body: Readable,
  { size, signal }: { size: number | undefined; signal: AbortSignal },
): Promise<Entry> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const partPlan = planParts(size, store.limits)
    const reader = new BodyReader(store.content ?? body)
    const length = Math.min(partPlan.partBytes, size ?? partPlan.partBytes)
    // The body may fail before it is read.
    body.on('error', () => {})
    const memory =
      size === undefined
        ? await waitForMemory(length, signal, store.limits.memoryTime)
        : partPlan.atOnce > 0 && takeMemory(length)
    if (!memory) return await storeParts()
    const bytes = await fillMemory(reader, memory)
    if (bytes === partPlan.partBytes) return await storeParts({ memory, bytes })
    let reusable = false
    try {
      signal.throwIfAborted()
      if (bytes === length) await reader.expectEnd()
      const entry = await store.putWhole(memory.bytes.subarray(0, bytes))
      reusable = true
      return entry
    } finally {
      memory.release({ reusable })
    }

    async function storeParts(buffered?: SendOptions['buffered']): Promise<Entry> {
      const upload = await store.begin().catch(error => {
        buffered?.memory.release({ reusable: true })
        throw error
      })
      let entry: Entry
      try {
        entry = await upload.store(reader, { partPlan, size, signal, buffered })
      } catch (error) {
        body.destroy()
        // The caller gets this error.
        await upload.free()
        throw error
      }
      await upload.ended()
      return entry
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

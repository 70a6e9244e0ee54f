import type { Readable } from 'node:stream'
import type { Entry, StoragePath, Unfinished } from '../contract.ts'
import { takeMemory, waitForMemory } from '../objects/part-memory.ts'
import { BodyReader, planParts } from '../objects/parts.ts'
import { fillMemory, type SendOptions } from '../objects/send.ts'
import { beginRecorded, type RecordedUpload } from './begin.ts'
import type { Bucket } from './bucket.ts'
import { headersOf } from './entry.ts'
import { alreadyExists } from './folders.ts'
import { complete, sendBody } from './multipart.ts'
import type { Conditions } from './probe.ts'
import { type Destination, putWhole } from './publish.ts'

export interface WriteOptions {
  path: StoragePath
  size: number | undefined
  mimeType: string | undefined
  modifiedAt: Date | undefined
  unfinished: Unfinished | undefined
  signal: AbortSignal
}

/**
 * Stores a body in one request if it fits into one part, otherwise in parts. An abort takes effect until the last byte
 * has arrived. After that the write continues to its end, and the caller gets its result.
 */
export async function writeBody(
  bucket: Bucket,
  conditions: Conditions,
  destination: Destination,
  body: Readable,
  { path, size, mimeType, modifiedAt, unfinished, signal }: WriteOptions,
): Promise<Entry> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const headers = headersOf({ mimeType, modifiedAt })
    const partPlan = planParts(size, bucket.limits)
    const reader = new BodyReader(body)
    const length = Math.min(partPlan.partBytes, size ?? partPlan.partBytes)
    // The body may fail before it is read.
    body.on('error', () => {})
    const memory =
      size === undefined
        ? await waitForMemory(length, signal, bucket.limits.memoryTime)
        : partPlan.atOnce > 0 && takeMemory(length)
    if (!memory) return await writeParts()
    const bytes = await fillMemory(reader, memory)
    if (bytes === partPlan.partBytes) return await writeParts({ memory, bytes })
    let reusable = false
    try {
      signal.throwIfAborted()
      if (bytes === length) await reader.expectEnd()
      const entry = await putWhole(bucket, conditions, destination, memory.bytes.subarray(0, bytes), headers)
      reusable = true
      return entry
    } finally {
      memory.release({ reusable })
    }

    async function writeParts(buffered?: SendOptions['buffered']): Promise<Entry> {
      const { upload, ended, free } = await beginUpload().catch(error => {
        buffered?.memory.release({ reusable: true })
        throw error
      })
      let entry: Entry
      try {
        const sent = await sendBody(bucket, upload, body, reader, { partPlan, size, signal, buffered })
        entry = await complete(bucket, conditions, upload, destination, sent)
      } catch (error) {
        body.destroy()
        // `free` never rejects, so the caller gets this error.
        await free()
        throw error
      }
      await ended()
      return entry
    }

    async function beginUpload(): Promise<RecordedUpload> {
      // Fail before reading a long body that cannot be stored.
      if (!destination.overwrite && (await bucket.head(destination.key, signal))) throw alreadyExists()
      return await beginRecorded(bucket, { path, key: destination.key, headers }, unfinished)
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

import type { Readable } from 'node:stream'
import type { Entry, StoragePath, Unfinished } from '../contract.ts'
import { beginNoted, type NotedUpload } from './begin.ts'
import type { Bucket } from './bucket.ts'
import { taken } from './folders.ts'
import { complete, filled, type Sending, sendBody } from './multipart.ts'
import { takeMemory, waitForMemory } from './part-memory.ts'
import { cutFor, Flow } from './parts.ts'
import type { Conditions } from './probe.ts'
import { putWhole, type Target } from './publish.ts'

export interface WriteOptions {
  path: StoragePath
  size: number | undefined
  mimeType: string | undefined
  unfinished: Unfinished | undefined
  signal: AbortSignal
}

/**
 * In one request where the body fits into a part, else in parts. An abort counts until the last byte has come; after that
 * the file gets its name or does not, and whoever asked is told which.
 */
export async function writeBody(
  bucket: Bucket,
  conditions: Conditions,
  target: Target,
  body: Readable,
  { path, size, mimeType, unfinished, signal }: WriteOptions,
): Promise<Entry> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const cut = cutFor(size, bucket.limits)
    const flow = new Flow(body)
    const length = Math.min(cut.partBytes, size ?? cut.partBytes)
    // It may fail before anything of it is read.
    body.on('error', () => {})
    const memory =
      size === undefined
        ? await waitForMemory(length, signal, bucket.limits.memoryTime)
        : cut.atOnce > 0 && takeMemory(length)
    if (!memory) return await inParts()
    const bytes = await filled(flow, memory)
    if (bytes === cut.partBytes) return await inParts({ memory, bytes })
    let reusable = false
    try {
      signal.throwIfAborted()
      if (bytes === length) await flow.expectEnd()
      const entry = await putWhole(bucket, conditions, target, memory.bytes.subarray(0, bytes), mimeType)
      reusable = true
      return entry
    } finally {
      memory.release({ reusable })
    }

    async function inParts(begun?: Sending['begun']): Promise<Entry> {
      const { upload, ended, free } = await beginUpload().catch(error => {
        begun?.memory.release({ reusable: true })
        throw error
      })
      let entry: Entry
      try {
        const sent = await sendBody(bucket, upload, body, flow, { cut, size, signal, begun })
        entry = await complete(bucket, conditions, upload, target, sent)
      } catch (error) {
        body.destroy()
        // Its failure must not hide the first one.
        await free()
        throw error
      }
      await ended()
      return entry
    }

    async function beginUpload(): Promise<NotedUpload> {
      // Before a long body is read in vain.
      if (!target.overwrite && (await bucket.head(target.key, signal))) throw taken()
      const headers = mimeType ? { ContentType: mimeType } : {}
      return await beginNoted(bucket, { path, key: target.key, headers }, unfinished)
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

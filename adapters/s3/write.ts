import type { Readable } from 'node:stream'
import type { Entry } from '../contract.ts'
import type { Bucket } from './bucket.ts'
import { taken } from './folders.ts'
import { begin, complete, giveUp, sendBody } from './multipart.ts'
import { cutFor, gathered } from './parts.ts'
import type { Conditions } from './probe.ts'
import { putWhole, type Target } from './publish.ts'

export interface WriteOptions {
  size: number | undefined
  mimeType: string | undefined
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
  { size, mimeType, signal }: WriteOptions,
): Promise<Entry> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const cut = cutFor(size, bucket.limits)
    if (cut.atOnce === 0) return await inParts()
    const parts = gathered(body, cut.partBytes)
    const { value: first } = await parts.next()
    signal.throwIfAborted()
    if (!first || first.length < cut.partBytes) {
      return await putWhole(bucket, conditions, target, first ?? Buffer.alloc(0), mimeType)
    }
    return await inParts(startingWith(first, parts))

    async function inParts(parts?: AsyncIterable<Buffer>): Promise<Entry> {
      // Before a long body is read in vain.
      if (!target.overwrite && (await bucket.head(target.key, signal))) throw taken()
      const upload = await begin(bucket, target.key, mimeType ? { ContentType: mimeType } : {})
      try {
        signal.throwIfAborted()
        const options = { cut, size: size ?? 0, signal, ...(parts ? { parts } : {}) }
        return await complete(bucket, conditions, upload, target, await sendBody(bucket, upload, body, options))
      } catch (error) {
        body.destroy()
        // Its failure must not hide the first one; what it leaves is for the bucket's own clean-up rule.
        await giveUp(bucket, upload).catch(() => {})
        throw error
      }
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function* startingWith<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield first
  yield* rest
}

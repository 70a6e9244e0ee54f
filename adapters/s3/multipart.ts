import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CompletedPart } from '@aws-sdk/client-s3'
import { type Entry, StorageError } from '../contract.ts'
import { type Bucket, isPrecondition, wasRepeated } from './bucket.ts'
import { etagOf } from './entry.ts'
import { withGrace } from './grace.ts'
import { type PartMemory, takeMemory, waitForMemory } from './part-memory.ts'
import { type Cut, type Flow, maxParts } from './parts.ts'
import type { Conditions } from './probe.ts'
import { publish, storedEntry, type Target } from './publish.ts'

export interface Upload {
  Bucket: string
  Key: string
  UploadId: string
}

export interface Sent {
  parts: CompletedPart[]
  bytes: number
}

/** Frees the parts; an unknown upload resolves. */
export async function giveUp(bucket: Bucket, upload: Upload): Promise<void> {
  await bucket
    .call(undefined, s3 => s3.abortMultipartUpload(upload))
    .catch(error => {
      if (error?.code !== 'NOT_FOUND') throw error
    })
}

/** The same for an upload of which nobody else knows: a server that is busy, or away, is asked again for a while. */
export async function giveUpUnknown(bucket: Bucket, upload: Upload): Promise<void> {
  for (const pause of bucket.limits.givingUpPauses) {
    try {
      return await giveUp(bucket, upload)
    } catch {
      await sleep(pause, undefined, { ref: false })
    }
  }
  await giveUp(bucket, upload)
}

/** @throws ALREADY_EXISTS */
export async function complete(
  bucket: Bucket,
  conditions: Conditions,
  upload: Upload,
  target: Target,
  { parts, bytes }: Sent,
): Promise<Entry> {
  const expected = etagOfParts(parts)
  const finish = async (condition: object) => {
    const request = { ...upload, ...condition, MultipartUpload: { Parts: parts } }
    try {
      const answer = await bucket.step(undefined, s3 => s3.completeMultipartUpload(request))
      return etagOf(answer.ETag)
    } catch (error) {
      // The answer to a first attempt may have been lost.
      const head =
        isPrecondition(error) && !wasRepeated(error) ? undefined : await bucket.head(upload.Key).catch(() => {})
      if (!head || etagOf(head.ETag) !== expected) throw error
      return expected
    }
  }
  const etag = await publish(bucket, conditions, target, 'complete', finish)
  return await storedEntry(bucket, target, bytes, [etag, expected].filter(Boolean))
}

export interface Sending {
  cut: Cut
  /** Bytes of the body; where they are not known, its parts have to be gathered. */
  size: number | undefined
  signal: AbortSignal
  /** Number of the first part. */
  first?: number
  /** The beginning of the body, where it has been gathered: its memory, and how much of that is filled. */
  begun?: { memory: PartMemory; bytes: number } | undefined
}

/**
 * Sends gathered parts side by side; one for which there is no memory goes by itself, as it comes, and cannot be sent again
 * when its connection drops. Settles only when none is under way any more.
 */
export async function sendBody(
  bucket: Bucket,
  upload: Upload,
  body: Readable,
  flow: Flow,
  { cut: { partBytes, atOnce }, size, signal, first = 1, begun }: Sending,
): Promise<Sent> {
  const sent: Sent = { parts: [], bytes: 0 }
  const failing = new AbortController()
  const ending = AbortSignal.any([signal, failing.signal])
  const underWay = new Set<Promise<void>>()
  const put = async (PartNumber: number, Body: Buffer | Readable, length: number) => {
    const part = { ...upload, PartNumber, Body, ContentLength: length }
    const { ETag } = await withGrace(ending, bucket.limits.graceTime, cut =>
      Buffer.isBuffer(Body)
        ? bucket.call(cut, (s3, options) => s3.uploadPart(part, options))
        : bucket.flow(untilError(Body, cut), (s3, options) => s3.uploadPart(part, options)),
    )
    sent.parts.push({ PartNumber, ETag })
    sent.bytes += length
  }
  const putGathered = async (number: number, { bytes, release }: PartMemory, length: number) => {
    let reusable = false
    try {
      await put(number, bytes.subarray(0, length), length)
      reusable = true
    } catch (error) {
      // Only the first failure counts; it ends the other parts, and a body that may never come to its end.
      failing.abort(error)
      body.destroy()
    } finally {
      release({ reusable })
    }
  }
  const memoryFor = async (length: number): Promise<PartMemory | undefined> => {
    if (size === undefined) return await waitForMemory(length, ending, bucket.limits.memoryTime)
    if (atOnce === 0) return undefined
    let memory = takeMemory(length)
    // What this write has itself is soon free again.
    while (!memory && underWay.size > 0) {
      await Promise.race(underWay)
      memory = takeMemory(length)
    }
    return memory
  }
  const sendGathered = (number: number, memory: PartMemory, bytes: number) => {
    const sending: Promise<void> = putGathered(number, memory, bytes).then(() => void underWay.delete(sending))
    underWay.add(sending)
  }
  let number = first
  let taken = 0
  if (begun) {
    sendGathered(number++, begun.memory, begun.bytes)
    taken = begun.bytes
  }
  try {
    while (taken !== size) {
      if (underWay.size >= Math.max(1, atOnce)) await Promise.race(underWay)
      ending.throwIfAborted()
      const length = size === undefined ? partBytes : Math.min(partBytes, size - taken)
      const memory = await memoryFor(length)
      let bytes = length
      if (memory) {
        bytes = await filled(flow, memory)
        if (bytes > 0) refuseTooMany(number, memory)
        if (bytes > 0) sendGathered(number, memory, bytes)
        else memory.release({ reusable: true })
      } else {
        refuseTooMany(number)
        await put(number, flow.take(length), length)
      }
      number += 1
      taken += bytes
      if (bytes < length) break
    }
    if (taken === size) await flow.expectEnd()
  } catch (error) {
    failing.abort(error)
  }
  await Promise.all(underWay)
  signal.throwIfAborted()
  if (failing.signal.aborted) throw failing.signal.reason
  sent.parts.sort((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0))
  return sent
}

/** Bytes. */
export async function filled(flow: Flow, { bytes, release }: PartMemory): Promise<number> {
  try {
    return await flow.fill(bytes)
  } catch (error) {
    release({ reusable: true })
    throw error
  }
}

/** The SDK would wait for a piece that failed for ever; of a part that is cut short the server keeps nothing. */
function untilError(piece: Readable, signal: AbortSignal): AbortSignal {
  const failing = new AbortController()
  piece.once('error', error => failing.abort(error))
  return AbortSignal.any([signal, failing.signal])
}

/** @throws QUOTA_EXCEEDED */
function refuseTooMany(partNumber: number, memory?: PartMemory): void {
  if (partNumber > maxParts) {
    memory?.release({ reusable: true })
    throw new StorageError('QUOTA_EXCEEDED', 'The file is too large to be sent without its size: announce it first.')
  }
}

/** As S3 makes it, unless it encrypts with a key of one's own: the MD5 of the MD5s, and how many. */
function etagOfParts(parts: readonly CompletedPart[]): string {
  const hash = createHash('md5')
  for (const { ETag } of parts) hash.update(Buffer.from(etagOf(ETag) ?? '', 'hex'))
  return `${hash.digest('hex')}-${parts.length}`
}

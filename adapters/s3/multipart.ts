import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { CompletedPart } from '@aws-sdk/client-s3'
import { type Entry, StorageError } from '../contract.ts'
import { type Bucket, isPrecondition, wasRepeated } from './bucket.ts'
import { etagOf } from './entry.ts'
import { withGrace } from './grace.ts'
import { type Cut, Flow, gathered, maxParts } from './parts.ts'
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

/** Not cut short by an abort: an upload whose id got lost could be given up by nobody. */
export async function begin(bucket: Bucket, Key: string, headers: Record<string, unknown>): Promise<Upload> {
  const object = { Bucket: bucket.name, Key }
  const { UploadId } = await bucket.call(undefined, s3 => s3.createMultipartUpload({ ...headers, ...object }))
  if (!UploadId) throw new StorageError('UNAVAILABLE', 'The back end began no upload: try again.')
  return { ...object, UploadId }
}

/** Frees the parts; an unknown upload resolves. */
export async function giveUp(bucket: Bucket, upload: Upload): Promise<void> {
  await bucket
    .call(undefined, s3 => s3.abortMultipartUpload(upload))
    .catch(error => {
      if (error?.code !== 'NOT_FOUND') throw error
    })
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
      const answer = await bucket.call(undefined, s3 => s3.completeMultipartUpload(request))
      return etagOf(answer.ETag)
    } catch (error) {
      // The answer to a first attempt may have been lost.
      const head =
        isPrecondition(error) && !wasRepeated(error) ? undefined : await bucket.head(upload.Key).catch(() => {})
      if (!head || etagOf(head.ETag) !== expected) throw error
      return expected
    }
  }
  const etag = await publish(bucket, conditions, target, finish)
  return await storedEntry(bucket, target, bytes, [etag, expected].filter(Boolean))
}

/** Sends parts side by side, numbered from `first`. Settles only when none is under way any more. */
async function sendParts(
  bucket: Bucket,
  upload: Upload,
  parts: AsyncIterable<Buffer>,
  { first, atOnce, body, signal }: { first: number; atOnce: number; body: Readable; signal: AbortSignal },
): Promise<Sent> {
  const sent: Sent = { parts: [], bytes: 0 }
  const failing = new AbortController()
  const ending = AbortSignal.any([signal, failing.signal])
  const underWay = new Set<Promise<void>>()
  const send = async (PartNumber: number, bytes: Buffer) => {
    try {
      const part = { ...upload, PartNumber, Body: bytes }
      const { ETag } = await withGrace(ending, bucket.limits.graceTime, cut =>
        bucket.call(cut, (s3, options) => s3.uploadPart(part, options)),
      )
      sent.parts.push({ PartNumber, ETag })
      sent.bytes += bytes.length
    } catch (error) {
      // Only the first failure counts; it ends the other parts, and a body that may never come to its end.
      failing.abort(error)
      body.destroy()
    }
  }
  try {
    let number = first
    for await (const bytes of parts) {
      if (bytes.length === 0 && number > first) break
      refuseTooMany(number)
      const sending: Promise<void> = send(number, bytes).then(() => void underWay.delete(sending))
      underWay.add(sending)
      number += 1
      if (underWay.size >= atOnce) await Promise.race(underWay)
      if (failing.signal.aborted) break
    }
  } catch (error) {
    failing.abort(error)
  }
  await Promise.all(underWay)
  signal.throwIfAborted()
  if (failing.signal.aborted) throw failing.signal.reason
  sent.parts.sort((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0))
  return sent
}

/** Parts that are too long to be held go one by one, and cannot be sent again when a connection drops. */
async function streamParts(
  bucket: Bucket,
  upload: Upload,
  body: Readable,
  { first, size, partBytes, signal }: { first: number; size: number; partBytes: number; signal: AbortSignal },
): Promise<Sent> {
  const flow = new Flow(body)
  const sent: Sent = { parts: [], bytes: 0 }
  while (sent.bytes < size) {
    const PartNumber = first + sent.parts.length
    refuseTooMany(PartNumber)
    const ContentLength = Math.min(partBytes, size - sent.bytes)
    const piece = flow.take(ContentLength)
    const failing = new AbortController()
    // The SDK would wait for a piece that failed for ever; of a part that is cut short the server keeps nothing.
    piece.once('error', error => failing.abort(error))
    const part = { ...upload, PartNumber, ContentLength, Body: piece }
    const { ETag } = await withGrace(signal, bucket.limits.graceTime, cut =>
      bucket.call(AbortSignal.any([cut, failing.signal]), (s3, options) => s3.uploadPart(part, options)),
    )
    sent.parts.push({ PartNumber, ETag })
    sent.bytes += ContentLength
  }
  await flow.expectEnd()
  return sent
}

interface Sending {
  cut: Cut
  /** Bytes of the body. Only a hint, but where parts do not fit into memory. */
  size: number
  signal: AbortSignal
  /** Number of the first part. */
  first?: number
  /** Of the body, where some of it has been gathered. */
  parts?: AsyncIterable<Buffer>
}

/** One way or the other, by what fits into memory. */
export function sendBody(
  bucket: Bucket,
  upload: Upload,
  body: Readable,
  { cut: { partBytes, atOnce }, size, signal, first = 1, parts = gathered(body, partBytes) }: Sending,
): Promise<Sent> {
  if (atOnce === 0) return streamParts(bucket, upload, body, { first, size, partBytes, signal })
  return sendParts(bucket, upload, parts, { first, atOnce, body, signal })
}

export function refuseTooMany(partNumber: number): void {
  if (partNumber > maxParts) {
    throw new StorageError('QUOTA_EXCEEDED', 'The file is too large to be sent without its size: announce it first.')
  }
}

/** As S3 makes it, unless it encrypts with a key of one's own: the MD5 of the MD5s, and how many. */
function etagOfParts(parts: readonly CompletedPart[]): string {
  const hash = createHash('md5')
  for (const { ETag } of parts) hash.update(Buffer.from(etagOf(ETag) ?? '', 'hex'))
  return `${hash.digest('hex')}-${parts.length}`
}

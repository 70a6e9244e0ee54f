import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CompletedPart } from '@aws-sdk/client-s3'
import { type Entry, StorageError } from '../contract.ts'
import { type Bucket, isPrecondition, wasRepeated } from './bucket.ts'
import { etagOf } from './entry.ts'
import { withGrace } from './grace.ts'
import { type PartMemory, takeMemory, waitForMemory } from './part-memory.ts'
import { type BodyReader, maxParts, type PartPlan } from './parts.ts'
import type { Conditions } from './probe.ts'
import { type Destination, publish, storedEntry } from './publish.ts'

export interface Upload {
  Bucket: string
  Key: string
  UploadId: string
}

export interface SentParts {
  parts: CompletedPart[]
  bytes: number
}

/** Frees the parts of an upload. Resolves for an unknown upload. */
export async function abortUpload(bucket: Bucket, upload: Upload): Promise<void> {
  await bucket
    .call(undefined, s3 => s3.abortMultipartUpload(upload))
    .catch(error => {
      if (error?.code !== 'NOT_FOUND') throw error
    })
}

/**
 * Aborts an upload that the host has no record of, so that nobody else can free it. Retries when the server is busy or
 * down.
 */
export async function abortUnrecorded(bucket: Bucket, upload: Upload): Promise<void> {
  for (const pause of bucket.limits.abortRetryDelays) {
    try {
      return await abortUpload(bucket, upload)
    } catch {
      await sleep(pause, undefined, { ref: false })
    }
  }
  await abortUpload(bucket, upload)
}

/** Makes the uploaded parts visible as one file. @throws ALREADY_EXISTS; UNAVAILABLE where the stored file is incomplete */
export async function complete(
  bucket: Bucket,
  conditions: Conditions,
  upload: Upload,
  destination: Destination,
  { parts, bytes }: SentParts,
): Promise<Entry> {
  const expected = etagOfParts(parts)
  const finish = async (condition: object) => {
    const request = { ...upload, ...condition, MultipartUpload: { Parts: parts } }
    try {
      const response = await bucket.slowCall(undefined, s3 => s3.completeMultipartUpload(request))
      return etagOf(response.ETag)
    } catch (error) {
      // An earlier attempt may have succeeded although its response was lost.
      const head =
        isPrecondition(error) && !wasRepeated(error) ? undefined : await bucket.head(upload.Key).catch(() => {})
      if (!head || etagOf(head.ETag) !== expected) throw error
      return expected
    }
  }
  const etag = await publish(bucket, conditions, destination, 'complete', finish)
  return await storedEntry(bucket, destination, bytes, [etag, expected].filter(Boolean))
}

export interface SendOptions {
  partPlan: PartPlan
  /** Bytes of the body. Where it is undefined, each part is buffered first, because S3 needs its length. */
  size: number | undefined
  signal: AbortSignal
  /** The number of the first part. Default: 1. */
  first?: number
  /** The first part, if the caller has already buffered it: its memory and the number of bytes in it. */
  buffered?: { memory: PartMemory; bytes: number } | undefined
}

/**
 * Sends buffered parts concurrently. A part without memory is streamed alone and cannot be sent again when its connection
 * drops. Settles only when no part is being sent any more.
 */
export async function sendBody(
  bucket: Bucket,
  upload: Upload,
  body: Readable,
  reader: BodyReader,
  { partPlan: { partBytes, atOnce }, size, signal, first = 1, buffered }: SendOptions,
): Promise<SentParts> {
  const sent: SentParts = { parts: [], bytes: 0 }
  const failing = new AbortController()
  const ended = AbortSignal.any([signal, failing.signal])
  const underWay = new Set<Promise<void>>()
  const put = async (PartNumber: number, Body: Buffer | Readable, length: number) => {
    const part = { ...upload, PartNumber, Body, ContentLength: length }
    const { ETag } = await withGrace(ended, bucket.limits.graceTime, lateSignal =>
      Buffer.isBuffer(Body)
        ? bucket.call(lateSignal, (s3, options) => s3.uploadPart(part, options))
        : bucket.sendUnbuffered(withErrorsOf(Body, lateSignal), (s3, options) => s3.uploadPart(part, options)),
    )
    sent.parts.push({ PartNumber, ETag })
    sent.bytes += length
  }
  const putBuffered = async (number: number, { bytes, release }: PartMemory, length: number) => {
    let reusable = false
    try {
      await put(number, bytes.subarray(0, length), length)
      reusable = true
    } catch (error) {
      // The first failure cancels the other parts, and the body, which might never end.
      failing.abort(error)
      body.destroy()
    } finally {
      release({ reusable })
    }
  }
  const memoryFor = async (length: number): Promise<PartMemory | undefined> => {
    if (size === undefined) return await waitForMemory(length, ended, bucket.limits.memoryTime)
    if (atOnce === 0) return undefined
    let memory = takeMemory(length)
    // The parts that this write is sending soon free their memory.
    while (!memory && underWay.size > 0) {
      await Promise.race(underWay)
      memory = takeMemory(length)
    }
    return memory
  }
  const sendBuffered = (number: number, memory: PartMemory, bytes: number) => {
    const sending: Promise<void> = putBuffered(number, memory, bytes).then(() => void underWay.delete(sending))
    underWay.add(sending)
  }
  let number = first
  let consumed = 0
  if (buffered) {
    sendBuffered(number++, buffered.memory, buffered.bytes)
    consumed = buffered.bytes
  }
  try {
    while (consumed !== size) {
      if (underWay.size >= Math.max(1, atOnce)) await Promise.race(underWay)
      ended.throwIfAborted()
      const length = size === undefined ? partBytes : Math.min(partBytes, size - consumed)
      const memory = await memoryFor(length)
      let bytes = length
      if (memory) {
        bytes = await fillMemory(reader, memory)
        if (bytes > 0) refuseTooManyParts(number, memory)
        if (bytes > 0) sendBuffered(number, memory, bytes)
        else memory.release({ reusable: true })
      } else {
        refuseTooManyParts(number)
        await put(number, reader.take(length), length)
      }
      number += 1
      consumed += bytes
      if (bytes < length) break
    }
    if (consumed === size) await reader.expectEnd()
  } catch (error) {
    failing.abort(error)
  }
  await Promise.all(underWay)
  signal.throwIfAborted()
  if (failing.signal.aborted) throw failing.signal.reason
  sent.parts.sort((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0))
  return sent
}

/** Fills the memory from the body and returns the number of bytes. Releases the memory when the body fails. */
export async function fillMemory(reader: BodyReader, { bytes, release }: PartMemory): Promise<number> {
  try {
    return await reader.fill(bytes)
  } catch (error) {
    release({ reusable: true })
    throw error
  }
}

/**
 * Returns a signal that also aborts when `piece` fails, because the SDK would wait forever. The server drops a part
 * that is cut short.
 */
function withErrorsOf(piece: Readable, signal: AbortSignal): AbortSignal {
  const failing = new AbortController()
  piece.once('error', error => failing.abort(error))
  return AbortSignal.any([signal, failing.signal])
}

/** @throws QUOTA_EXCEEDED */
function refuseTooManyParts(partNumber: number, memory?: PartMemory): void {
  if (partNumber > maxParts) {
    memory?.release({ reusable: true })
    throw new StorageError('QUOTA_EXCEEDED', 'The file is too large to be sent without its size: send the size first.')
  }
}

/** Computes the etag as S3 does, except with customer keys: the MD5 of the parts' MD5s and the number of parts. */
function etagOfParts(parts: readonly CompletedPart[]): string {
  const hash = createHash('md5')
  for (const { ETag } of parts) hash.update(Buffer.from(etagOf(ETag) ?? '', 'hex'))
  return `${hash.digest('hex')}-${parts.length}`
}

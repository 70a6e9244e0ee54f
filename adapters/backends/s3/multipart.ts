import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CompletedPart, S3 } from '@aws-sdk/client-s3'
import type { BodyReader } from '../../bases/objects/parts.ts'
import { type SendOptions, sendParts } from '../../bases/objects/send.ts'
import { parseJson } from '../../bases/objects/uploads.ts'
import type { Entry, StoragePath } from '../../contract.ts'
import { type Bucket, isPrecondition, wasRepeated } from './bucket.ts'
import { etagOf } from './entry.ts'
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

/** Sends the body in parts. A buffered part can be sent again when its connection drops. */
export async function sendBody(
  bucket: Bucket,
  upload: Upload,
  body: Readable,
  reader: BodyReader,
  options: SendOptions,
): Promise<SentParts> {
  const parts: CompletedPart[] = []
  const { bytes } = await sendParts(body, reader, options, bucket.limits, async (part, signal) => {
    const { number: PartNumber, content: Body, length: ContentLength } = part
    const request = { ...upload, PartNumber, Body, ContentLength }
    const work = (s3: S3, requestOptions: { abortSignal?: AbortSignal }) => s3.uploadPart(request, requestOptions)
    const { ETag } = await (Buffer.isBuffer(Body) ? bucket.call(signal, work) : bucket.sendUnbuffered(signal, work))
    parts.push({ PartNumber, ETag })
  })
  parts.sort((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0))
  return { parts, bytes }
}

/** Computes the etag as S3 does, except with customer keys: the MD5 of the parts' MD5s and the number of parts. */
function etagOfParts(parts: readonly CompletedPart[]): string {
  const hash = createHash('md5')
  for (const { ETag } of parts) hash.update(Buffer.from(etagOf(ETag) ?? '', 'hex'))
  return `${hash.digest('hex')}-${parts.length}`
}

/** The host's record of an unfinished write, with which `abort` can free it after a crash. */
export interface UploadRecord {
  path: StoragePath
  /** Undefined until the response names the upload. */
  id?: string
  /** Milliseconds since 1970 by the clock of S3. Uploads of this key that began later may be ours, with a lost id. */
  since?: number
}

/** @param since set where a lost response may have named another upload */
export function formatRecord(path: StoragePath, upload: Upload | undefined, since?: number): string {
  return JSON.stringify({
    path,
    ...(upload && { id: upload.UploadId }),
    ...(since && { since }),
  } satisfies UploadRecord)
}

export function parseRecord(text: string): UploadRecord | undefined {
  const record: Partial<UploadRecord> = parseJson(text)
  return typeof record.path === 'string' ? (record as UploadRecord) : undefined
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */

/** Bytes of a part that is not the last. */
export const minPartBytes = 5 * 1024 * 1024
/** Bytes: 5 TiB. */
export const maxFileSize = 5 * 1024 ** 4

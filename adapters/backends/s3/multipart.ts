/** Uploads in parts: https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CompletedPart, S3 } from '@aws-sdk/client-s3'
import { hasCode } from '../../bases/errors.ts'
import type { Destination } from '../../bases/objects/driver.ts'
import { type BodyReader, type SendOptions, sendParts } from '../../bases/objects/parts.ts'
import { delayBefore } from '../../bases/retry.ts'
import { parseJson } from '../../bases/upload-state.ts'
import { type Entry, StorageError, type StoragePath, type Unfinished } from '../../contract.ts'
import { type Bucket, wasRepeated } from './client.ts'
import { decodeKey, etagOf } from './entry.ts'
import { statusOf } from './errors.ts'
import { publish, storedEntry } from './write.ts'

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
      if (!hasCode(error, 'NOT_FOUND')) throw error
    })
}

/**
 * Aborts an upload that the host has no record of, so that nobody else can free it. Retries when the server is busy or
 * down.
 */
export async function abortUnrecorded(bucket: Bucket, upload: Upload): Promise<void> {
  const { abortBackoff } = bucket.limits
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await abortUpload(bucket, upload)
    } catch (error) {
      if (attempt >= abortBackoff.attempts) throw error
      await sleep(delayBefore(attempt - 1, abortBackoff), undefined, { ref: false })
    }
  }
}

/** Makes the uploaded parts visible as one file. @throws ALREADY_EXISTS; UNAVAILABLE where the stored file is incomplete */
export async function complete(
  bucket: Bucket,
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
        hasCode(error, 'PRECONDITION_FAILED') && !wasRepeated(error)
          ? undefined
          : await bucket.head(upload.Key).catch(() => {})
      if (!head || etagOf(head.ETag) !== expected) throw error
      return expected
    }
  }
  const etag = await publish(bucket, destination, 'complete', finish)
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
interface UploadRecord {
  path: StoragePath
  /** Undefined until the response names the upload. */
  id?: string
  /** Milliseconds since 1970 by the clock of S3. Uploads of this key that began later may be ours, with a lost id. */
  since?: number
}

/** @param since set where a lost response may have named another upload */
function formatRecord(path: StoragePath, upload: Upload | undefined, since?: number): string {
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

/**
 * The maximum difference between the clocks of S3 and this server, in milliseconds. The SDK corrects larger
 * differences.
 */
const clockTolerance = 5 * 60_000
/** The maximum time to begin an upload, with all retries, in milliseconds. */
const maxBeginTime = 10 * 60_000

export interface Beginning {
  path: StoragePath
  key: string
  headers: Record<string, unknown>
}

interface BegunUpload {
  upload: Upload
  /** Set where a lost response to an earlier attempt may have named another upload: see `UploadRecord`. */
  since: number | undefined
}

/** Begins an upload, which the host records before S3 creates it. An abort does not interrupt the request. */
export async function begin(
  bucket: Bucket,
  { path, key, headers }: Beginning,
  unfinished: Unfinished | undefined,
): Promise<BegunUpload> {
  const since = bucket.clock()
  await unfinished?.began(formatRecord(path, undefined, since))
  const object = { Bucket: bucket.name, Key: key }
  try {
    const request = { ...headers, ...object }
    const { UploadId, $metadata } = await bucket.call(undefined, s3 => s3.createMultipartUpload(request))
    if (!UploadId) throw new StorageError('UNAVAILABLE', 'The back end did not begin an upload: try again.')
    return { upload: { ...object, UploadId }, since: $metadata.attempts === 1 ? undefined : since }
  } catch (error) {
    if (wasRefused(error)) await unfinished?.ended()
    throw error
  }
}

export interface RecordedUpload {
  upload: Upload
  /** Call this once the file is stored. */
  ended(): Promise<void>
  /** Frees the parts; never rejects. If it fails, the host frees them later from its record. */
  free(): Promise<void>
}

/** Begins an upload that stays in the host's records until it ends. */
export async function beginRecorded(
  bucket: Bucket,
  beginning: Beginning,
  unfinished: Unfinished | undefined,
): Promise<RecordedUpload> {
  const { upload, since } = await begin(bucket, beginning, unfinished)
  const ended = async () => {
    if (since === undefined) await unfinished?.ended()
  }
  const freeWith = async (abort: typeof abortUpload) => {
    await abort(bucket, upload).then(ended, () => {})
  }
  try {
    await unfinished?.began(formatRecord(beginning.path, upload, since))
  } catch (error) {
    await freeWith(abortUnrecorded)
    throw error
  }
  return { upload, ended, free: () => freeWith(unfinished ? abortUpload : abortUnrecorded) }
}

/** Returns true if S3 refused the first attempt, so no upload exists. */
function wasRefused(error: unknown): boolean {
  const status = statusOf((error as Error).cause)
  return status !== undefined && status < 500 && !wasRepeated(error)
}

/**
 * Frees uploads whose ids were lost with a response: uploads of this key that began in the given time and have no part. Such
 * an upload never gets a part, whereas another writer's upload soon has one. The host calls this at least ten minutes after
 * the end of the write.
 */
export async function freeLost(bucket: Bucket, Key: string, since: number): Promise<void> {
  const [from, to] = [since - clockTolerance, since + clockTolerance + maxBeginTime]
  let markers = {}
  for (;;) {
    const page = await bucket.call(undefined, s3 =>
      s3.listMultipartUploads({ Bucket: bucket.name, Prefix: Key, EncodingType: 'url', ...markers }),
    )
    // The listing is sorted by key, so uploads of this key come first.
    const own = (page.Uploads ?? []).filter(upload => decodeKey(upload.Key ?? '') === Key)
    for (const { UploadId, Initiated } of own) {
      const begun = Initiated?.getTime() ?? Number.NaN
      if (UploadId && begun >= from && begun <= to) await freeIfEmpty(bucket, { Bucket: bucket.name, Key, UploadId })
    }
    if (!page.IsTruncated || own.length < (page.Uploads?.length ?? 0)) return
    markers = { KeyMarker: Key, UploadIdMarker: page.NextUploadIdMarker }
  }
}

async function freeIfEmpty(bucket: Bucket, upload: Upload): Promise<void> {
  try {
    const { Parts = [] } = await bucket.call(undefined, s3 => s3.listParts({ ...upload, MaxParts: 1 }))
    if (Parts.length === 0) await abortUpload(bucket, upload)
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
  }
}

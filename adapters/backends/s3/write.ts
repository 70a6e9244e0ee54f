import type { Readable } from 'node:stream'
import { type FileStore, storeBody } from '../../bases/objects/store.ts'
import { type Entry, StorageError, type StoragePath, type Unfinished } from '../../contract.ts'
import { type Bucket, wasRepeated } from './bucket.ts'
import { decodeKey, headersOf } from './entry.ts'
import { statusOf } from './errors.ts'
import { alreadyExists } from './folders.ts'
import { abortUnrecorded, abortUpload, complete, formatRecord, sendBody, type Upload } from './multipart.ts'
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

export async function writeBody(
  bucket: Bucket,
  conditions: Conditions,
  destination: Destination,
  body: Readable,
  { path, size, mimeType, modifiedAt, unfinished, signal }: WriteOptions,
): Promise<Entry> {
  const headers = headersOf({ mimeType, modifiedAt })
  const store: FileStore = {
    limits: bucket.limits,
    putWhole: bytes => putWhole(bucket, conditions, destination, bytes, headers),
    async begin() {
      // Fail before reading a long body that cannot be stored.
      if (!destination.overwrite && (await bucket.head(destination.key, signal))) throw alreadyExists()
      const { upload, ended, free } = await beginRecorded(bucket, { path, key: destination.key, headers }, unfinished)
      return {
        async store(reader, options) {
          const sent = await sendBody(bucket, upload, body, reader, options)
          return await complete(bucket, conditions, upload, destination, sent)
        },
        ended,
        free,
      }
    },
  }
  return await storeBody(store, body, { size, signal })
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

export interface BegunUpload {
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
    if ((error as StorageError).code !== 'NOT_FOUND') throw error
  }
}

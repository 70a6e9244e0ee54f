import { StorageError, type StoragePath, type Unfinished } from '../contract.ts'
import { type Bucket, wasRepeated } from './bucket.ts'
import { statusOf } from './errors.ts'
import { decodeKey } from './keys.ts'
import { giveUp, giveUpUnknown, type Upload } from './multipart.ts'
import { heldState } from './upload-state.ts'

/** Milliseconds that the clocks of S3 and of this server may differ: beyond them, the SDK corrects its own. */
const clockTolerance = 5 * 60_000
/** The maximum time to begin an upload, with all retries, in milliseconds. */
const longestBeginning = 10 * 60_000

export interface Beginning {
  path: StoragePath
  key: string
  headers: Record<string, unknown>
}

export interface Begun {
  upload: Upload
  /** Set where the answer to an attempt was lost on the way, and with it perhaps the id of another upload: see `Held`. */
  since: number | undefined
}

/** An abort does not interrupt this request. The host records the upload before S3 creates it. */
export async function begin(
  bucket: Bucket,
  { path, key, headers }: Beginning,
  unfinished: Unfinished | undefined,
): Promise<Begun> {
  const since = bucket.clock()
  await unfinished?.began(heldState(path, undefined, since))
  const object = { Bucket: bucket.name, Key: key }
  try {
    const request = { ...headers, ...object }
    const { UploadId, $metadata } = await bucket.call(undefined, s3 => s3.createMultipartUpload(request))
    if (!UploadId) throw new StorageError('UNAVAILABLE', 'The back end began no upload: try again.')
    return { upload: { ...object, UploadId }, since: $metadata.attempts === 1 ? undefined : since }
  } catch (error) {
    if (wasRefused(error)) await unfinished?.ended()
    throw error
  }
}

export interface NotedUpload {
  upload: Upload
  /** Call this once the file is stored. */
  ended(): Promise<void>
  /** Frees the parts. The host later frees those that this leaves, if it has a record of them. */
  free(): Promise<void>
}

/** Begins an upload that the host has on record from before the first request until its end. */
export async function beginNoted(
  bucket: Bucket,
  beginning: Beginning,
  unfinished: Unfinished | undefined,
): Promise<NotedUpload> {
  const { upload, since } = await begin(bucket, beginning, unfinished)
  const ended = async () => {
    if (since === undefined) await unfinished?.ended()
  }
  const free = async (give: typeof giveUp) => {
    await give(bucket, upload).then(ended, () => {})
  }
  try {
    await unfinished?.began(heldState(beginning.path, upload, since))
  } catch (error) {
    await free(giveUpUnknown)
    throw error
  }
  return { upload, ended, free: () => free(unfinished ? giveUp : giveUpUnknown) }
}

/** True where S3 refused at the first attempt, so that no upload exists. */
function wasRefused(error: unknown): boolean {
  const status = statusOf((error as Error).cause)
  return status !== undefined && status < 500 && !wasRepeated(error)
}

/**
 * Frees the uploads whose ids were lost with the answers that named them: those of the key which were begun in that time and
 * have no part. Without its id nobody sends a part, whereas another writer's upload soon has one. The host asks ten
 * minutes after the write has ended, at the earliest.
 */
export async function freeLost(bucket: Bucket, Key: string, since: number): Promise<void> {
  const [from, to] = [since - clockTolerance, since + clockTolerance + longestBeginning]
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
    if (Parts.length === 0) await giveUp(bucket, upload)
  } catch (error) {
    if ((error as StorageError).code !== 'NOT_FOUND') throw error
  }
}

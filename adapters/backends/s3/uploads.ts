/** The uploads of a provider: writes in one call, and uploads that continue in later calls. */
import type { Readable } from 'node:stream'
import { alreadyExists, requireBytes } from '../../bases/errors.ts'
import type { Destination, UploadDriver, UploadRef, WriteOptions } from '../../bases/objects/driver.ts'
import { BodyReader, planFor } from '../../bases/objects/parts.ts'
import type { FileStore } from '../../bases/objects/write.ts'
import { StorageError } from '../../contract.ts'
import type { Bucket } from './client.ts'
import { etagOf, headersOf, type Keys } from './entry.ts'
import { codeOf } from './errors.ts'
import {
  abortUnrecorded,
  abortUpload,
  begin,
  beginRecorded,
  complete,
  freeLost,
  parseRecord,
  type SentParts,
  sendBody,
  type Upload,
} from './multipart.ts'
import { putWhole } from './write.ts'

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */

/** Bytes of a part that is not the last. */
export const minPartBytes = 5 * 1024 * 1024
/** Bytes: 5 TiB. */
export const maxFileSize = 5 * 1024 ** 4

/** Stores a body in one request, or in parts that the host records. */
export function fileStore(
  bucket: Bucket,
  destination: Destination,
  body: Readable,
  { path, unfinished, ...file }: WriteOptions,
): FileStore {
  const { key } = destination
  return {
    limits: bucket.limits,
    putWhole: bytes => putWhole(bucket, destination, file, bytes),
    async begin() {
      // Fail before reading a long body that cannot be stored.
      if (!destination.overwrite && (await bucket.head(key, destination.signal))) throw alreadyExists()
      const { upload, ended, free } = await beginRecorded(bucket, { path, key, headers: headersOf(file) }, unfinished)
      return {
        async store(reader, options) {
          const sent = await sendBody(bucket, upload, body, reader, options)
          return await complete(bucket, upload, destination, sent)
        },
        ended,
        free,
      }
    },
  }
}

/** Uploads that continue in later calls. S3 keeps the parts in any order. The tag of a part is its ETag. */
export function uploadDriver(bucket: Bucket, keys: Keys): UploadDriver {
  const uploadOf = ({ id, key }: UploadRef): Upload => ({ Bucket: bucket.name, Key: key, UploadId: id })
  return {
    minPartSize: minPartBytes,

    async begin(path, key, { unfinished, ...file }) {
      const { upload, since } = await begin(bucket, { path, key, headers: headersOf(file) }, unfinished)
      if (since === undefined) await unfinished?.ended()
      return upload.UploadId
    },

    async send(ref, body, reader, options) {
      const { parts, bytes } = await sendBody(bucket, uploadOf(ref), body, reader, options)
      return { bytes, count: parts.length }
    },

    async join(ref, { count, size }, destination) {
      const upload = uploadOf(ref)
      const sent = await partsOf(bucket, upload, count, destination.signal)
      destination.signal.throwIfAborted()
      if (sent.bytes !== size) {
        throw new StorageError('UNAVAILABLE', `The back end has ${sent.bytes} of ${size} bytes: send the file again.`)
      }
      return await complete(bucket, upload, destination, sent)
    },

    async free(ref) {
      const upload = uploadOf(ref)
      await abortUpload(bucket, upload).catch(() => void abortUnrecorded(bucket, upload).catch(() => {}))
    },

    async abort(text) {
      const record = parseRecord(text)
      if (!record) return
      const key = keys.file(record.path)
      if (record.id) await abortUpload(bucket, uploadOf({ id: record.id, key }))
      if (record.since) await freeLost(bucket, key, record.since)
    },

    async putPart(ref, body, { signal, number: first, size }) {
      const upload = uploadOf(ref)
      const options = { partPlan: planFor(size, bucket.limits), size, signal, first }
      const { parts, bytes } = await sendBody(bucket, upload, body, new BodyReader(body), options)
      requireBytes(bytes, size)
      const empty = { ...upload, PartNumber: first, Body: Buffer.alloc(0), ContentLength: 0 }
      const { ETag } = parts[0] ?? (await bucket.call(signal, (s3, call) => s3.uploadPart(empty, call)))
      const tag = etagOf(ETag)
      if (tag === null) throw new StorageError('UNAVAILABLE', 'The back end did not name the part: send it again.')
      return tag
    },

    async joinParts(ref, parts, bytes, destination) {
      const sent = { parts: parts.map(({ number, tag }) => ({ PartNumber: number, ETag: tag })), bytes }
      return await complete(bucket, uploadOf(ref), destination, sent).catch(explainPart)
    },
  }
}

/**
 * Lists the parts 1 to `count` of an upload. Later parts are from an append that was repeated with fewer bytes.
 * @throws NOT_FOUND for a missing upload
 */
async function partsOf(bucket: Bucket, upload: Upload, count: number, signal: AbortSignal): Promise<SentParts> {
  const sent: SentParts = { parts: [], bytes: 0 }
  let PartNumberMarker: string | undefined
  do {
    const marker = PartNumberMarker === undefined ? {} : { PartNumberMarker }
    const page = await bucket.call(signal, (s3, options) => s3.listParts({ ...upload, ...marker }, options))
    for (const { PartNumber = 0, ETag, Size = 0 } of page.Parts ?? []) {
      if (PartNumber > count) continue
      sent.parts.push({ PartNumber, ETag })
      sent.bytes += Size
    }
    PartNumberMarker = page.IsTruncated ? page.NextPartNumberMarker : undefined
  } while (PartNumberMarker !== undefined)
  return sent
}

/** Some servers, such as Ceph 16, refuse to leave out a part. @throws PRECONDITION_FAILED, or the error itself */
function explainPart(error: unknown): never {
  if (!(error instanceof Error) || codeOf(error.cause ?? error) !== 'InvalidPart') throw error
  const message = 'A part is missing, has other bytes, or cannot be left out: send it again.'
  throw new StorageError('PRECONDITION_FAILED', message, { cause: error })
}

import type { Readable } from 'node:stream'
import type { CompletedPart } from '@aws-sdk/client-s3'
import { BodyReader, maxParts, planFor } from '../../bases/objects/parts.ts'
import {
  appendParts,
  beginState,
  fileOf,
  parseState,
  requireBytes,
  type State,
  whileReading,
} from '../../bases/objects/uploads.ts'
import { type Call, type Entry, nameOf, type PartWrites, type ResumableWrites, StorageError } from '../../contract.ts'
import type { Bucket } from './bucket.ts'
import { etagOf, headersOf, type Keys } from './entry.ts'
import { codeOf } from './errors.ts'
import type { Folders } from './folders.ts'
import {
  abortUnrecorded,
  abortUpload,
  complete,
  minPartBytes,
  parseRecord,
  type SentParts,
  sendBody,
  type Upload,
} from './multipart.ts'
import type { Conditions } from './probe.ts'
import { putWhole } from './publish.ts'
import { begin, freeLost } from './write.ts'

export function resumableWrites(
  bucket: Bucket,
  keys: Keys,
  folders: Folders,
  conditionsOf: () => Promise<Conditions>,
): ResumableWrites {
  const uploadOf = ({ path, id }: State): Upload => ({ Bucket: bucket.name, Key: keys.file(path), UploadId: id })
  const append = (text: string, body: Readable, options: Call & { offset: number; size: number }) =>
    appendParts(text, body, options, bucket.limits, async (state, reader, sendOptions) => {
      const { parts, bytes } = await sendBody(bucket, uploadOf(state), body, reader, sendOptions)
      return { bytes, count: parts.length }
    })

  return {
    partSize: bucket.limits.partBytes,
    maxAppends: maxParts,

    async begin(path, { signal, size, mimeType, modifiedAt, unfinished }): Promise<string> {
      const key = keys.file(path)
      await folders.refuseFolder(path, true, signal)
      const headers = headersOf({ mimeType, modifiedAt })
      const { upload, since } = await begin(bucket, { path, key, headers }, unfinished)
      if (since === undefined) await unfinished?.ended()
      return beginState({ path, id: upload.UploadId, size, mimeType, modifiedAt }, bucket.limits)
    },

    async append(text, body, options): Promise<string> {
      return JSON.stringify(await append(text, body, options))
    },

    async complete(text, body, { overwrite, ...options }): Promise<Entry> {
      const { signal } = options
      const state = await append(text, body, options)
      const { path, offset } = state
      const upload = uploadOf(state)
      const destination = { key: upload.Key, name: nameOf(path), overwrite, signal }
      const [conditions, sent] = await Promise.all([
        conditionsOf(),
        partsOf(bucket, upload, state, signal),
        folders.refuseFolder(path, overwrite, signal),
      ])
      signal.throwIfAborted()
      if (offset === 0) {
        const headers = headersOf(fileOf(state))
        const entry = await putWhole(bucket, conditions, destination, Buffer.alloc(0), headers)
        // The file is stored, so a failure to free the upload does not fail the call.
        await abortUpload(bucket, upload).catch(() => void abortUnrecorded(bucket, upload).catch(() => {}))
        return entry
      }
      if (sent.bytes !== offset) {
        throw new StorageError('UNAVAILABLE', `The back end has ${sent.bytes} of ${offset} bytes: send the file again.`)
      }
      return await complete(bucket, conditions, upload, destination, sent)
    },

    async abort(text, { signal }: Call): Promise<void> {
      signal.throwIfAborted()
      const record = parseRecord(text)
      if (!record) return
      const Key = keys.file(record.path)
      if (record.id) await abortUpload(bucket, { Bucket: bucket.name, Key, UploadId: record.id })
      if (record.since) await freeLost(bucket, Key, record.since)
    },

    parts: partWrites(bucket, folders, conditionsOf, uploadOf),
  }
}

/**
 * Lists the parts of the upload that belong to the state. Later parts are from an append that was repeated with fewer bytes.
 * @throws NOT_FOUND for a missing upload
 */
async function partsOf(bucket: Bucket, upload: Upload, { next }: State, signal: AbortSignal): Promise<SentParts> {
  const sent: SentParts = { parts: [], bytes: 0 }
  let PartNumberMarker: string | undefined
  do {
    const marker = PartNumberMarker === undefined ? {} : { PartNumberMarker }
    const page = await bucket.call(signal, (s3, options) => s3.listParts({ ...upload, ...marker }, options))
    for (const { PartNumber = 0, ETag, Size = 0 } of page.Parts ?? []) {
      if (PartNumber >= next) continue
      const part: CompletedPart = { PartNumber, ETag }
      sent.parts.push(part)
      sent.bytes += Size
    }
    PartNumberMarker = page.IsTruncated ? page.NextPartNumberMarker : undefined
  } while (PartNumberMarker !== undefined)
  return sent
}

/** Passes parts on to S3, which keeps them in any order. The tag of a part is its ETag. */
function partWrites(
  bucket: Bucket,
  folders: Folders,
  conditionsOf: () => Promise<Conditions>,
  uploadOf: (state: State) => Upload,
): PartWrites {
  async function send(upload: Upload, body: Readable, first: number, size: number, signal: AbortSignal) {
    const partPlan = planFor(size, bucket.limits)
    const { parts, bytes } = await sendBody(bucket, upload, body, new BodyReader(body), {
      partPlan,
      size,
      signal,
      first,
    })
    requireBytes(bytes, size)
    if (parts[0]) return parts[0]
    const empty = { ...upload, PartNumber: first, Body: Buffer.alloc(0), ContentLength: 0 }
    return await bucket.call(signal, (s3, options) => s3.uploadPart(empty, options))
  }

  return {
    minSize: minPartBytes,

    async put(text, body, { signal, number, size }) {
      return await whileReading(body, signal, async () => {
        const { ETag } = await send(uploadOf(parseState(text)), body, number, size, signal)
        const tag = etagOf(ETag)
        if (tag === null) throw new StorageError('UNAVAILABLE', 'The back end did not name the part: send it again.')
        return tag
      })
    },

    async complete(text, parts, { signal, size, overwrite }) {
      signal.throwIfAborted()
      const state = parseState(text)
      const upload = uploadOf(state)
      const destination = { key: upload.Key, name: nameOf(state.path), overwrite, signal }
      const [conditions] = await Promise.all([conditionsOf(), folders.refuseFolder(state.path, overwrite, signal)])
      signal.throwIfAborted()
      const sent = { parts: parts.map(({ number, tag }) => ({ PartNumber: number, ETag: tag })), bytes: size }
      return await complete(bucket, conditions, upload, destination, sent).catch(explainPart)
    },
  }
}

/** Some servers, such as Ceph 16, refuse to leave out a part. @throws PRECONDITION_FAILED, or the error itself */
function explainPart(error: unknown): never {
  if (!(error instanceof Error) || codeOf(error.cause ?? error) !== 'InvalidPart') throw error
  throw new StorageError(
    'PRECONDITION_FAILED',
    'A part is missing, has other bytes, or cannot be left out: send it again.',
    {
      cause: error,
    },
  )
}

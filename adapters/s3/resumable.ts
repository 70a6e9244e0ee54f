import type { Readable } from 'node:stream'
import type { CompletedPart } from '@aws-sdk/client-s3'
import { type Call, type Entry, nameOf, type ResumableWrites, StorageError } from '../contract.ts'
import { begin, freeLost } from './begin.ts'
import type { Bucket } from './bucket.ts'
import type { Folders } from './folders.ts'
import type { Keys } from './keys.ts'
import { complete, giveUp, giveUpUnknown, type Sent, sendBody, type Upload } from './multipart.ts'
import { cutFor, cutOf, Flow, maxParts } from './parts.ts'
import type { Conditions } from './probe.ts'
import { putWhole } from './publish.ts'
import { parseHeld, parseState, type State } from './upload-state.ts'

export function resumableWrites(
  bucket: Bucket,
  keys: Keys,
  folders: Folders,
  conditionsOf: () => Promise<Conditions>,
): ResumableWrites {
  const uploadOf = ({ path, id }: State): Upload => ({ Bucket: bucket.name, Key: keys.file(path), UploadId: id })
  /** What stands there with `body`. */
  async function extended(
    text: string,
    body: Readable,
    { signal, offset, size }: Call & { offset: number; size: number },
  ): Promise<State> {
    const onAbort = () => body.destroy(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      const state = parseState(text)
      if (offset !== state.offset) {
        throw new StorageError('PRECONDITION_FAILED', `The upload stands at ${state.offset} bytes: go on from there.`)
      }
      // Repeated, it sends the same numbers again, and what it sent before is replaced.
      const options = { first: state.next, cut: cutOf(state.part, bucket.limits), size, signal }
      const sent = await sendBody(bucket, uploadOf(state), body, new Flow(body), options)
      if (sent.bytes !== size) {
        throw new StorageError('UNAVAILABLE', `${sent.bytes} bytes came where ${size} were announced: send them again.`)
      }
      return { ...state, next: state.next + sent.parts.length, offset: offset + size }
    } catch (error) {
      body.destroy()
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  return {
    partSize: bucket.limits.partBytes,
    maxAppends: maxParts,

    async begin(path, { signal, size, mimeType, unfinished }): Promise<string> {
      const key = keys.file(path)
      await folders.refuseFolder(path, true, signal)
      const headers = mimeType ? { ContentType: mimeType } : {}
      const { upload, since } = await begin(bucket, { path, key, headers }, unfinished)
      if (since === undefined) await unfinished?.ended()
      const part = roundUp(cutFor(size, bucket.limits).partBytes, bucket.limits.partBytes)
      const state: State = { path, id: upload.UploadId, part, next: 1, offset: 0, ...(mimeType && { type: mimeType }) }
      return JSON.stringify(state)
    },

    async append(text, body, options): Promise<string> {
      return JSON.stringify(await extended(text, body, options))
    },

    async complete(text, body, { overwrite, ...options }): Promise<Entry> {
      const { signal } = options
      const state = await extended(text, body, options)
      const { path, offset } = state
      const upload = uploadOf(state)
      const target = { key: upload.Key, name: nameOf(path), overwrite, signal }
      const [conditions, sent] = await Promise.all([
        conditionsOf(),
        partsOf(bucket, upload, state, signal),
        folders.refuseFolder(path, overwrite, signal),
      ])
      signal.throwIfAborted()
      if (offset === 0) {
        const entry = await putWhole(bucket, conditions, target, Buffer.alloc(0), state.type)
        // The file is there, whatever becomes of this.
        await giveUp(bucket, upload).catch(() => void giveUpUnknown(bucket, upload).catch(() => {}))
        return entry
      }
      if (sent.bytes !== offset) {
        throw new StorageError('UNAVAILABLE', `The back end has ${sent.bytes} of ${offset} bytes: send the file again.`)
      }
      return await complete(bucket, conditions, upload, target, sent)
    },

    async abort(text, { signal }: Call): Promise<void> {
      signal.throwIfAborted()
      const held = parseHeld(text)
      if (!held) return
      const Key = keys.file(held.path)
      if (held.id) await giveUp(bucket, { Bucket: bucket.name, Key, UploadId: held.id })
      if (held.since) await freeLost(bucket, Key, held.since)
    },
  }
}

/** Without those of an append that was repeated with less. @throws NOT_FOUND for an upload that is gone */
async function partsOf(bucket: Bucket, upload: Upload, { next }: State, signal: AbortSignal): Promise<Sent> {
  const sent: Sent = { parts: [], bytes: 0 }
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

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step
}

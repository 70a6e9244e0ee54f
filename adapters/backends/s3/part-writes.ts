import type { Readable } from 'node:stream'
import { BodyReader, planFor } from '../../bases/objects/parts.ts'
import { parseState, requireBytes, type State } from '../../bases/objects/uploads.ts'
import { whileReading } from '../../bases/objects/while-reading.ts'
import { nameOf, type PartWrites, StorageError } from '../../contract.ts'
import type { Bucket } from './bucket.ts'
import { etagOf } from './entry.ts'
import { codeOf } from './errors.ts'
import type { Folders } from './folders.ts'
import { complete, sendBody, type Upload } from './multipart.ts'
import { minPartBytes } from './parts.ts'
import type { Conditions } from './probe.ts'

/** Passes parts on to S3, which keeps them in any order. The tag of a part is its ETag. */
export function partWrites(
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

import type { Readable } from 'node:stream'
import { type FileStore, storeBody } from '../../bases/objects/store.ts'
import type { Entry, StoragePath, Unfinished } from '../../contract.ts'
import { beginRecorded } from './begin.ts'
import type { Bucket } from './bucket.ts'
import { headersOf } from './entry.ts'
import { alreadyExists } from './folders.ts'
import { complete, sendBody } from './multipart.ts'
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

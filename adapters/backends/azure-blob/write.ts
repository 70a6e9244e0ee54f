import { createHash, type Hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { maxParts } from '../../bases/objects/parts.ts'
import { sendParts } from '../../bases/objects/send.ts'
import { type FileStore, storeBody } from '../../bases/objects/store.ts'
import { type Entry, StorageError, type Unfinished } from '../../contract.ts'
import type { Container } from './container.ts'
import type { FileHeaders, Keys } from './entry.ts'
import { alreadyExists } from './errors.ts'
import { type Destination, putWhole } from './publish.ts'
import { formatRecord } from './resumable.ts'
import { blockId, blockIds, freeStaged, maxBlockBytes, newStaged, publishStaged, putBlock } from './staging.ts'

/** Bytes: 38 TiB, the number of parts that one upload uses times their largest length. */
export const maxFileSize = maxParts * maxBlockBytes

export interface WriteOptions {
  keys: Keys
  size: number | undefined
  file: FileHeaders
  unfinished: Unfinished | undefined
  signal: AbortSignal
  /** Called where parts could not be freed after the file was stored. */
  onError(error: unknown): void
}

export async function writeBody(
  container: Container,
  destination: Destination,
  body: Readable,
  { keys, size, file, unfinished, signal, onError }: WriteOptions,
): Promise<Entry> {
  if (size !== undefined && size > maxFileSize) {
    throw new StorageError('QUOTA_EXCEEDED', `Files can have at most ${maxFileSize} bytes.`)
  }
  const { limits } = container
  const hash = createHash('md5')
  const store: FileStore = {
    limits,
    putWhole: bytes => putWhole(container, destination, { body: bytes, md5: hash.digest('base64'), file }),
    async begin() {
      // Fail before reading a long body that cannot be stored.
      if (!destination.overwrite && (await container.head(destination.key, signal))) throw alreadyExists()
      const staged = newStaged(keys)
      await unfinished?.began(formatRecord(staged))
      let isFreed = true
      return {
        async store(reader, options) {
          const sent = await sendParts(body, reader, options, limits, (part, late) =>
            putBlock(container, staged, blockId(part.number), part, late),
          )
          const whole = { file, ids: blockIds(sent.count), size: sent.bytes, md5: hash.digest('base64') }
          return await publishStaged(container, staged, destination, whole, error => {
            isFreed = false
            onError(error)
          })
        },
        async ended() {
          // Otherwise the host frees the parts later from its record.
          if (isFreed) await unfinished?.ended()
        },
        async free() {
          await freeStaged(container, staged)
            .then(() => unfinished?.ended())
            .catch(() => {})
        },
      }
    },
  }
  return await storeBody(store, body, { size, signal }, hashed(body, hash))
}

async function* hashed(body: Readable, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    hash.update(bytes)
    yield bytes
  }
}

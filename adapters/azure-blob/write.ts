import { createHash, type Hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type Entry, StorageError, type Unfinished } from '../contract.ts'
import { takeMemory, waitForMemory } from '../objects/part-memory.ts'
import { BodyReader, maxParts, planParts } from '../objects/parts.ts'
import { fillMemory, type SendOptions, sendParts } from '../objects/send.ts'
import type { Container } from './container.ts'
import type { FileHeaders } from './entry.ts'
import { alreadyExists } from './errors.ts'
import type { Keys } from './keys.ts'
import { type Destination, putWhole } from './publish.ts'
import { blockId, blockIds, freeStaged, maxBlockBytes, newStaged, publishStaged, putBlock } from './staging.ts'
import { formatRecord } from './upload-state.ts'

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

/**
 * Stores a body in one request if it fits into one part, otherwise in parts. An abort takes effect until the last byte
 * has arrived. After that the write continues to its end, and the caller gets its result.
 */
export async function writeBody(
  container: Container,
  destination: Destination,
  body: Readable,
  { keys, size, file, unfinished, signal, onError }: WriteOptions,
): Promise<Entry> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    if (size !== undefined && size > maxFileSize) {
      throw new StorageError('QUOTA_EXCEEDED', `Files can have at most ${maxFileSize} bytes.`)
    }
    const { limits } = container
    const partPlan = planParts(size, limits)
    const hash = createHash('md5')
    const reader = new BodyReader(hashed(body, hash))
    const length = Math.min(partPlan.partBytes, size ?? partPlan.partBytes)
    // The body may fail before it is read.
    body.on('error', () => {})
    const memory =
      size === undefined
        ? await waitForMemory(length, signal, limits.memoryTime)
        : partPlan.atOnce > 0 && takeMemory(length)
    if (!memory) return await writeParts()
    const bytes = await fillMemory(reader, memory)
    if (bytes === partPlan.partBytes) return await writeParts({ memory, bytes })
    let reusable = false
    try {
      signal.throwIfAborted()
      if (bytes === length) await reader.expectEnd()
      const whole = { body: memory.bytes.subarray(0, bytes), md5: hash.digest('base64'), file }
      const entry = await putWhole(container, destination, whole)
      reusable = true
      return entry
    } finally {
      memory.release({ reusable })
    }

    async function writeParts(buffered?: SendOptions['buffered']): Promise<Entry> {
      const staged = newStaged(keys)
      try {
        // Fail before reading a long body that cannot be stored.
        if (!destination.overwrite && (await container.head(destination.key, signal))) throw alreadyExists()
        await unfinished?.began(formatRecord(staged))
      } catch (error) {
        buffered?.memory.release({ reusable: true })
        throw error
      }
      const options = { partPlan, size, signal, buffered }
      try {
        const sent = await sendParts(body, reader, options, limits, (part, late) =>
          putBlock(container, staged, blockId(part.number), part, late),
        )
        const whole = { file, ids: blockIds(sent.count), size: sent.bytes, md5: hash.digest('base64') }
        let isFreed = true
        const entry = await publishStaged(container, staged, destination, whole, error => {
          isFreed = false
          onError(error)
        })
        // Otherwise the host frees the parts later from its record.
        if (isFreed) await unfinished?.ended()
        return entry
      } catch (error) {
        body.destroy()
        // If this fails, the host frees the parts later from its record.
        await freeStaged(container, staged).then(
          () => unfinished?.ended(),
          () => {},
        )
        throw error
      }
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function* hashed(body: Readable, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    hash.update(bytes)
    yield bytes
  }
}

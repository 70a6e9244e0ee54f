import { createHash } from 'node:crypto'
import { type Entry, StorageError } from '../contract.ts'
import { type Bucket, isPrecondition, wasRepeated } from './bucket.ts'
import { etagOf, fileEntry } from './entry.ts'
import { taken } from './folders.ts'
import type { Conditions, Step } from './probe.ts'

export interface Target {
  key: string
  /** Leaf name. */
  name: string
  overwrite: boolean
  /** Ends the wait for other writers of the key, and nothing after that. */
  signal: AbortSignal
}

type Condition = { IfNoneMatch?: '*' }

/**
 * Runs the step that makes a file visible, without `overwrite` only where there is none.
 *
 * Where the server honours the condition of each such step, one request decides. Where it does not, all writers of a key
 * take turns. Nothing stands in for a file that is still to come, so a server that is killed leaves nothing to be seen.
 *
 * @throws ALREADY_EXISTS
 */
export async function publish<T>(
  bucket: Bucket,
  conditions: Conditions,
  { key, overwrite, signal }: Target,
  kind: Step,
  step: (condition: Condition) => Promise<T>,
): Promise<T> {
  const isConditional = !overwrite && conditions[kind]
  const run = async () => {
    try {
      return await step(isConditional ? { IfNoneMatch: '*' } : {})
    } catch (error) {
      // The step may have had another condition, too.
      throw isConditional && isPrecondition(error) && (await bucket.head(key)) ? taken(error) : error
    }
  }
  if (conditions.put && conditions.complete && conditions.copy) return await run()
  return await bucket.exclusively(key, signal, async () => {
    if (!overwrite && !isConditional && (await bucket.head(key))) throw taken()
    return await run()
  })
}

/** @throws ALREADY_EXISTS */
export async function putWhole(
  bucket: Bucket,
  conditions: Conditions,
  target: Target,
  bytes: Buffer,
  mimeType: string | undefined,
): Promise<Entry> {
  const object = { Bucket: bucket.name, Key: target.key, Body: bytes, ...(mimeType ? { ContentType: mimeType } : {}) }
  const etag = await publish(bucket, conditions, target, 'put', async condition => {
    try {
      const answer = await bucket.call(undefined, s3 => s3.putObject({ ...object, ...condition }))
      return etagOf(answer.ETag)
    } catch (error) {
      // The answer to a first attempt may have been lost, and then it is our own file that is in the way.
      const head = isPrecondition(error) && wasRepeated(error) ? await bucket.head(target.key) : undefined
      const md5 = createHash('md5').update(bytes).digest('hex')
      if (!head || etagOf(head.ETag) !== md5) throw error
      return md5
    }
  })
  return await storedEntry(bucket, target, bytes.length, [etag])
}

/**
 * The entry of what was just stored, held against what was sent. One HEAD: no answer to a write tells the time.
 *
 * @param etags that it may have
 * @throws UNAVAILABLE where it is not whole; then it is removed
 */
export async function storedEntry(
  bucket: Bucket,
  { key, name }: Target,
  size: number,
  etags: readonly (string | null)[],
): Promise<Entry> {
  const head = await bucket.head(key)
  const etag = head && etagOf(head.ETag)
  if (!head || !etags.includes(etag ?? null)) {
    // Another write or a delete came after ours.
    return fileEntry(name, bucket.fileId(key), size, { ETag: etags.find(Boolean) ?? undefined })
  }
  if (head.ContentLength !== size) {
    await remove(bucket, key)
    const message = `The back end kept ${head.ContentLength} of ${size} bytes, and the file was removed: try again.`
    throw new StorageError('UNAVAILABLE', message)
  }
  return fileEntry(name, bucket.fileId(key), size, head)
}

async function remove(bucket: Bucket, Key: string): Promise<void> {
  await bucket.call(undefined, s3 => s3.deleteObject({ Bucket: bucket.name, Key }))
}

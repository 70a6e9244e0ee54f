import { createHash, randomUUID } from 'node:crypto'
import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3'
import { type Entry, StorageError } from '../contract.ts'
import { type Bucket, isPrecondition, wasRepeated } from './bucket.ts'
import { etagOf, fileEntry } from './entry.ts'
import { taken } from './folders.ts'
import type { Conditions } from './probe.ts'

export interface Target {
  key: string
  /** Leaf name. */
  name: string
  overwrite: boolean
}

type Condition = { IfNoneMatch?: '*' }

/**
 * Runs the step that makes a file visible, without `overwrite` only where there is none.
 *
 * Where the server looks at conditions only with PutObject, an empty object takes the name first: of several writers one
 * gets it. For that instant the file is there without its bytes, as it is on a disk that knows no links.
 *
 * @param claim who takes the name: whoever tries again with the same one goes on with what an attempt has left that was
 * killed
 * @throws ALREADY_EXISTS
 */
export async function publish<T>(
  bucket: Bucket,
  conditions: Conditions,
  { key, overwrite }: Target,
  step: (condition: Condition) => Promise<T>,
  claim: string = randomUUID(),
): Promise<T> {
  if (overwrite) return await step({})
  if (conditions === 'all') {
    return await step({ IfNoneMatch: '*' }).catch(async error => {
      // The step may have had another condition, too.
      throw isPrecondition(error) && (await bucket.head(key)) ? taken(error) : error
    })
  }
  if (conditions === 'none') {
    if (await bucket.head(key)) throw taken()
    return await step({})
  }
  await claimKey(bucket, key, claim)
  try {
    return await step({})
  } catch (error) {
    // Must not hide why; it is tried again where the parts are given up.
    await removeClaim(bucket, key, claim).catch(() => {})
    throw error
  }
}

/** @throws ALREADY_EXISTS */
export async function putWhole(
  bucket: Bucket,
  conditions: Conditions,
  { key: Key, name, overwrite }: Target,
  bytes: Buffer,
  mimeType: string | undefined,
): Promise<Entry> {
  const object = { Bucket: bucket.name, Key, Body: bytes, ...(mimeType ? { ContentType: mimeType } : {}) }
  const condition: Condition = overwrite || conditions === 'none' ? {} : { IfNoneMatch: '*' }
  if (!overwrite && conditions === 'none' && (await bucket.head(Key))) throw taken()
  const md5 = () => createHash('md5').update(bytes).digest('hex')
  const etag = await bucket
    .call(undefined, s3 => s3.putObject({ ...object, ...condition }))
    .then(answer => etagOf(answer.ETag))
    .catch(async error => {
      if (!isPrecondition(error)) throw error
      // The answer to a first attempt may have been lost, and then it is our own file that is in the way.
      const head = wasRepeated(error) ? await bucket.head(Key) : undefined
      if (!head || etagOf(head.ETag) !== md5()) throw taken(error)
      return etagOf(head.ETag)
    })
  return await storedEntry(bucket, { key: Key, name, overwrite }, bytes.length, [etag])
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
    return fileEntry(name, size, { ETag: etags.find(Boolean) ?? undefined })
  }
  if (head.ContentLength !== size) {
    await remove(bucket, key)
    const message = `The back end kept ${head.ContentLength} of ${size} bytes, and the file was removed: try again.`
    throw new StorageError('UNAVAILABLE', message)
  }
  return fileEntry(name, size, head)
}

async function claimKey(bucket: Bucket, Key: string, claim: string): Promise<void> {
  const object = { Bucket: bucket.name, Key, Body: Buffer.alloc(0), Metadata: { 'stowage-claim': claim } }
  try {
    await bucket.call(undefined, s3 => s3.putObject({ ...object, IfNoneMatch: '*' }))
  } catch (error) {
    if (!isPrecondition(error)) throw error
    if (!(await isClaim(bucket, Key, claim))) throw taken(error)
  }
}

/** Frees a name that was taken and has got no file. */
export async function removeClaim(bucket: Bucket, key: string, claim: string): Promise<void> {
  if (await isClaim(bucket, key, claim)) await remove(bucket, key)
}

async function isClaim(bucket: Bucket, key: string, claim: string): Promise<boolean> {
  const head: HeadObjectCommandOutput | undefined = await bucket.head(key)
  return head?.Metadata?.['stowage-claim'] === claim
}

async function remove(bucket: Bucket, Key: string): Promise<void> {
  await bucket.call(undefined, s3 => s3.deleteObject({ Bucket: bucket.name, Key }))
}

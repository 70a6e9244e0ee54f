/** Writes that make a file visible: in one request, or at the end of an upload in parts. */
import { createHash } from 'node:crypto'
import { alreadyExists, hasCode } from '../../bases/errors.ts'
import type { Destination, NewFile } from '../../bases/objects/driver.ts'
import { type Entry, StorageError } from '../../contract.ts'
import { type Bucket, type Step, wasRepeated } from './client.ts'
import { maxDirectBody } from './direct.ts'
import { defaultType, etagOf, fileEntry, headersOf } from './entry.ts'

type Condition = { IfNoneMatch?: '*' }

/**
 * Runs the step that makes a file visible. Without `overwrite`, it never replaces a file.
 *
 * Where the server supports `If-None-Match` for every step, one request decides. Elsewhere writers of one key take turns. No
 * placeholder object reserves the key, so a killed server leaves nothing that clients could see.
 *
 * @throws ALREADY_EXISTS
 */
export async function publish<T>(
  bucket: Bucket,
  { key, overwrite, signal }: Destination,
  kind: Step,
  step: (condition: Condition) => Promise<T>,
): Promise<T> {
  const { conditions } = bucket
  const isConditional = !overwrite && conditions[kind]
  const run = async () => {
    try {
      return await step(isConditional ? { IfNoneMatch: '*' } : {})
    } catch (error) {
      // The step may have failed on a condition of its own, such as the version of a copy's source.
      throw isConditional && hasCode(error, 'PRECONDITION_FAILED') && (await bucket.head(key))
        ? alreadyExists(error)
        : error
    }
  }
  if (conditions.put && conditions.complete && conditions.copy) return await run()
  return await bucket.exclusively(key, signal, async () => {
    if (!overwrite && !isConditional && (await bucket.head(key))) throw alreadyExists()
    return await run()
  })
}

/** Bytes that are hashed at once to save a request. A HEAD costs less than to hash more. */
const maxHashed = 1024 * 1024

/** Stores a file in one request. @throws ALREADY_EXISTS; UNAVAILABLE where the stored file is incomplete */
export async function putWhole(bucket: Bucket, destination: Destination, file: NewFile, bytes: Buffer): Promise<Entry> {
  const headers = headersOf(file)
  const object = { ...headers, Bucket: bucket.name, Key: destination.key, Body: bytes }
  const md5 = bytes.length > maxHashed ? undefined : createHash('md5').update(bytes).digest('hex')
  const stored = await publish(bucket, destination, 'put', async condition => {
    const direct =
      bytes.length > maxDirectBody
        ? undefined
        : await bucket.direct?.put(destination.key, toHttp(headers, condition), bytes)
    if (typeof direct === 'object') return direct.value
    try {
      return await bucket.call(undefined, s3 => s3.putObject({ ...object, ...condition }))
    } catch (error) {
      // An earlier attempt may have stored the file although its response was lost. The existing file is then our own.
      const isRepeated = direct === 'unknown' || wasRepeated(error)
      const head = hasCode(error, 'PRECONDITION_FAILED') && isRepeated ? await bucket.head(destination.key) : undefined
      if (!head || etagOf(head.ETag) !== (md5 ?? createHash('md5').update(bytes).digest('hex'))) throw error
      return head
    }
  })
  const etag = etagOf(stored.ETag)
  if (etag !== md5) return await storedEntry(bucket, destination, bytes.length, [etag])
  // The etag shows that the bytes arrived whole. The Date of the response may be later than the time of the file.
  const described = { ...stored, LastModified: undefined, ContentType: headers.ContentType ?? defaultType }
  return fileEntry(destination.name, bucket.fileId(destination.key), bytes.length, described)
}

function toHttp({ ContentType, Metadata }: ReturnType<typeof headersOf>, { IfNoneMatch }: Condition) {
  return {
    ...(ContentType !== undefined && { 'content-type': ContentType }),
    ...(Metadata && { 'x-amz-meta-mtime': Metadata.mtime }),
    ...(IfNoneMatch && { 'if-none-match': IfNoneMatch }),
  }
}

/**
 * Returns the entry of the file that was just stored, and compares its size with the bytes sent. It sends one HEAD, because
 * the response to a write does not show that the file is complete.
 *
 * @param etags the etags that the file may have; with any other etag, it is another writer's file
 * @throws UNAVAILABLE where the stored file is incomplete; it is removed first
 */
export async function storedEntry(
  bucket: Bucket,
  { key, name }: Destination,
  size: number,
  etags: readonly (string | null)[],
): Promise<Entry> {
  const head = await bucket.head(key)
  const etag = head && etagOf(head.ETag)
  if (!head || !etags.includes(etag ?? null)) {
    // Another writer has replaced or deleted the file since.
    return fileEntry(name, bucket.fileId(key), size, { ETag: etags.find(Boolean) ?? undefined })
  }
  if (head.ContentLength !== size) {
    await bucket.remove(key)
    const message = `The back end stored ${head.ContentLength} of ${size} bytes, and the file was removed: try again.`
    throw new StorageError('UNAVAILABLE', message)
  }
  return fileEntry(name, bucket.fileId(key), size, head)
}

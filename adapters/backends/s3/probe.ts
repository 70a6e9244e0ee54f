/** Finds out with test objects what a server supports. */
import { randomUUID } from 'node:crypto'
import { LruMap } from '../../bases/limits.ts'
import { allConditions, type Bucket, type Conditions, noConditions } from './client.ts'
import { copySource, probePrefix } from './entry.ts'
import { configFault, statusOf } from './errors.ts'

/** Milliseconds. */
const probeTimeout = 5_000

/** Results by endpoint and bucket. */
const known = new LruMap<string, Conditions>(1000)

/**
 * Tests which steps honor `If-None-Match`. Returns undefined during an outage.
 * @throws INVALID_CONFIG where the bucket is missing or in another region
 */
export async function probe(bucket: Bucket): Promise<Conditions | undefined> {
  const signal = AbortSignal.timeout(probeTimeout)
  try {
    await bucket.raw.headBucket({ Bucket: bucket.name }, { abortSignal: signal })
  } catch (error) {
    const fault = configFault(error, bucket.where)
    if (fault) throw fault
    // Any other failure may be temporary, and the next call on the provider reports it.
    if (statusOf(error) === undefined) return undefined
  }
  if (bucket.settings.isAmazon) return allConditions
  const bucketKey = `${bucket.settings.endpoint} ${bucket.name}`
  const conditions = known.get(bucketKey) ?? (await probeConditions(bucket, signal).catch(() => undefined))
  if (conditions) known.set(bucketKey, conditions)
  return conditions
}

/** Returns the key of a new test object. Listings leave it out: see `isProbe`. */
export function probeKey(bucket: Bucket): string {
  return `${bucket.settings.base}${probePrefix}${randomUUID()}/`
}

/** @param versions the ids of the versions that the test wrote; undefined in a bucket without versions */
export async function removeProbe(
  bucket: Bucket,
  Key: string,
  versions: ReadonlySet<string | undefined>,
): Promise<void> {
  for (const VersionId of versions) {
    const version = VersionId ? { VersionId } : {}
    await bucket.raw.deleteObject({ Bucket: bucket.name, Key, ...version }, cleaning()).catch(() => {})
  }
}

/** Removes test objects and uploads that a killed server left. */
async function removeOldProbes(bucket: Bucket, signal: AbortSignal): Promise<void> {
  const options = { abortSignal: signal }
  const selection = { Bucket: bucket.name, Prefix: bucket.settings.base + probePrefix }
  const isOld = (date: Date | undefined) =>
    date !== undefined && bucket.clock() - date.getTime() > bucket.limits.staleProbeAge
  const [{ Contents = [] }, { Uploads = [] }] = await Promise.all([
    bucket.raw.listObjectsV2(selection, options),
    bucket.raw.listMultipartUploads(selection, options),
  ])
  for (const { Key, LastModified } of Contents) {
    if (isOld(LastModified)) await bucket.raw.deleteObject({ Bucket: bucket.name, Key }, options)
  }
  for (const { Key, UploadId, Initiated } of Uploads) {
    if (isOld(Initiated)) await bucket.raw.abortMultipartUpload({ Bucket: bucket.name, Key, UploadId }, options)
  }
}

/** Creates a test object, then tries to replace it with each step. */
async function probeConditions(bucket: Bucket, signal: AbortSignal): Promise<Conditions> {
  const object = { Bucket: bucket.name, Key: probeKey(bucket) }
  const ifAbsent = { IfNoneMatch: '*' }
  const options = { abortSignal: signal }
  const { raw } = bucket
  const versions = new Set<string | undefined>()
  const put = async () => {
    const { VersionId } = await raw.putObject({ ...object, Body: Buffer.alloc(0), ...ifAbsent }, options)
    versions.add(VersionId)
  }
  const copy = async () => {
    const source = { CopySource: copySource(object.Bucket, object.Key), MetadataDirective: 'REPLACE' as const }
    const { VersionId } = await raw.copyObject({ ...object, ...source, ...ifAbsent }, options)
    versions.add(VersionId)
  }
  const complete = async () => {
    const { UploadId } = await raw.createMultipartUpload(object, options)
    const upload = { ...object, UploadId }
    try {
      const part = { PartNumber: 1, Body: Buffer.alloc(1) }
      const { ETag } = await raw.uploadPart({ ...upload, ...part }, options)
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
      const request = { ...upload, MultipartUpload, ...ifAbsent }
      const { VersionId } = await raw.completeMultipartUpload(request, options)
      versions.add(VersionId)
    } catch (error) {
      await raw.abortMultipartUpload(upload, cleaning())
      throw error
    }
  }
  // The credentials may not allow listing uploads. Cleaning up is optional.
  await removeOldProbes(bucket, signal).catch(() => {})
  try {
    await put()
    if (!(await isHonoured(put))) return noConditions
    return { put: true, complete: await isHonoured(complete), copy: await isHonoured(copy) }
  } catch (error) {
    // 501 Not Implemented, for example from OpenStack Swift.
    if (statusOf(error) === 501) return noConditions
    throw error
  } finally {
    await removeProbe(bucket, object.Key, versions)
  }
}

/** Returns true if the server refuses to replace the object (412). @throws where the server fails and decides nothing */
async function isHonoured(request: () => Promise<void>): Promise<boolean> {
  try {
    await request()
    return false
  } catch (error) {
    const status = statusOf(error)
    if (status === 412) return true
    if (status === 501 || (status !== undefined && status < 500)) return false
    throw error
  }
}

const cleaning = () => ({ abortSignal: AbortSignal.timeout(probeTimeout) })

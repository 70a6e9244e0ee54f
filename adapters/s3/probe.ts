import { randomUUID } from 'node:crypto'
import type { Bucket } from './bucket.ts'
import { configFault, statusOf } from './errors.ts'
import { copySource, probePrefix } from './keys.ts'

/** Requests that can make a file visible. */
export type Step = 'put' | 'complete' | 'copy'

/** Which of them honour `If-None-Match: *`, and so never replace a file. Ceph 16 ignores it in all but PutObject. */
export type Conditions = Readonly<Record<Step, boolean>>

export const allConditions: Conditions = { put: true, complete: true, copy: true }
export const noConditions: Conditions = { put: false, complete: false, copy: false }

/** Milliseconds. */
const patience = 5_000

/** By bucket; the answer stays the same while the server process runs. */
const known = new Map<string, Conditions>()

/** Undefined where it could not be found out. @throws INVALID_CONFIG: no such bucket, or in another region */
export async function probe(bucket: Bucket): Promise<Conditions | undefined> {
  const signal = AbortSignal.timeout(patience)
  try {
    await bucket.raw.headBucket({ Bucket: bucket.name }, { abortSignal: signal })
  } catch (error) {
    const fault = configFault(error, bucket.where)
    if (fault) throw fault
    // Whatever else it is may pass, and is told to whoever uses the provider.
    if (statusOf(error) === undefined) return undefined
  }
  if (bucket.settings.isAmazon) return allConditions
  const place = `${bucket.settings.endpoint} ${bucket.name}`
  const conditions = known.get(place) ?? (await probeConditions(bucket, signal).catch(() => undefined))
  if (conditions) known.set(place, conditions)
  return conditions
}

/** It looks like the marker of a folder that no listing shows: see `isProbe`. */
export function probeKey(bucket: Bucket): string {
  return `${bucket.settings.base}${probePrefix}${randomUUID()}/`
}

/** @param versions those that were written; undefined in a bucket without versions */
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

/** Removes what a killed server has left. */
async function removeOldProbes(bucket: Bucket, signal: AbortSignal): Promise<void> {
  const options = { abortSignal: signal }
  const wanted = { Bucket: bucket.name, Prefix: bucket.settings.base + probePrefix }
  const isOld = (date: Date | undefined) =>
    date !== undefined && bucket.clock() - date.getTime() > bucket.limits.probeAge
  const [{ Contents = [] }, { Uploads = [] }] = await Promise.all([
    bucket.raw.listObjectsV2(wanted, options),
    bucket.raw.listMultipartUploads(wanted, options),
  ])
  for (const { Key, LastModified } of Contents) {
    if (isOld(LastModified)) await bucket.raw.deleteObject({ Bucket: bucket.name, Key }, options)
  }
  for (const { Key, UploadId, Initiated } of Uploads) {
    if (isOld(Initiated)) await bucket.raw.abortMultipartUpload({ Bucket: bucket.name, Key, UploadId }, options)
  }
}

/** Creates an object, then tries to replace it in each way. */
async function probeConditions(bucket: Bucket, signal: AbortSignal): Promise<Conditions> {
  const object = { Bucket: bucket.name, Key: probeKey(bucket) }
  const unlessThere = { IfNoneMatch: '*' }
  const options = { abortSignal: signal }
  const { raw } = bucket
  const versions = new Set<string | undefined>()
  const put = async () => {
    const { VersionId } = await raw.putObject({ ...object, Body: Buffer.alloc(0), ...unlessThere }, options)
    versions.add(VersionId)
  }
  const copy = async () => {
    const source = { CopySource: copySource(object.Bucket, object.Key), MetadataDirective: 'REPLACE' as const }
    const { VersionId } = await raw.copyObject({ ...object, ...source, ...unlessThere }, options)
    versions.add(VersionId)
  }
  const complete = async () => {
    const { UploadId } = await raw.createMultipartUpload(object, options)
    const upload = { ...object, UploadId }
    try {
      const part = { PartNumber: 1, Body: Buffer.alloc(1) }
      const { ETag } = await raw.uploadPart({ ...upload, ...part }, options)
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
      const request = { ...upload, MultipartUpload, ...unlessThere }
      const { VersionId } = await raw.completeMultipartUpload(request, options)
      versions.add(VersionId)
    } catch (error) {
      await raw.abortMultipartUpload(upload, cleaning())
      throw error
    }
  }
  // Credentials that may not list uploads leave them.
  await removeOldProbes(bucket, signal).catch(() => {})
  try {
    await put()
    if (!(await isHonoured(put))) return noConditions
    return { put: true, complete: await isHonoured(complete), copy: await isHonoured(copy) }
  } catch (error) {
    // Not Implemented: OpenStack Swift.
    if (statusOf(error) === 501) return noConditions
    throw error
  } finally {
    await removeProbe(bucket, object.Key, versions)
  }
}

/** Whether a request that would replace an object is refused for that. @throws where the server gives no decision */
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

const cleaning = () => ({ abortSignal: AbortSignal.timeout(patience) })

import { randomUUID } from 'node:crypto'
import type { Bucket } from './bucket.ts'
import { configFault, statusOf } from './errors.ts'

/**
 * Which requests honour `If-None-Match: *`, and so never replace a file: all of them, as at Amazon; PutObject alone, as at
 * Ceph 16, where the others ignore it; none.
 */
export type Conditions = 'all' | 'put' | 'none'

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
  if (bucket.settings.isAmazon) return 'all'
  const place = `${bucket.settings.endpoint} ${bucket.name}`
  const conditions = known.get(place) ?? (await probeConditions(bucket, signal).catch(() => undefined))
  if (conditions) known.set(place, conditions)
  return conditions
}

/** Writes an empty object twice, then removes it. It looks like the marker of a folder, so no file ever seems to be there. */
async function probeConditions(bucket: Bucket, signal: AbortSignal): Promise<Conditions> {
  const object = { Bucket: bucket.name, Key: `${bucket.settings.base}.stowage-probe-${randomUUID()}/` }
  const options = { abortSignal: signal }
  const put = () => bucket.raw.putObject({ ...object, Body: Buffer.alloc(0), IfNoneMatch: '*' }, options)
  const written: { VersionId?: string | undefined }[] = []
  try {
    written.push(await put())
    written.push(await put())
    return 'none'
  } catch (error) {
    if (statusOf(error) === 412) return 'put'
    if (statusOf(error) === 501) return 'none'
    throw error
  } finally {
    for (const { VersionId } of written) {
      const version = VersionId ? { VersionId } : {}
      const cleaning = { abortSignal: AbortSignal.timeout(patience) }
      await bucket.raw.deleteObject({ ...object, ...version }, cleaning).catch(() => {})
    }
  }
}

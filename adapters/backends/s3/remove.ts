import { StorageError } from '../../contract.ts'
import type { Bucket } from './bucket.ts'
import { codeOf, statusOf, toStorageError } from './errors.ts'
import { decodeKey } from './keys.ts'

/** The maximum number of keys in one DeleteObjects and in one listing. */
const batch = 1000
/** The number of concurrent deletions of single keys. */
const atOnce = 16
/** Characters that XML 1.0 cannot contain: https://www.w3.org/TR/xml/#charsets */
const noXml = /[^\t\n\u0020-\ufffd]/

export async function removeKey(bucket: Bucket, Key: string, signal: AbortSignal): Promise<void> {
  if (await bucket.direct?.remove(Key, signal)) return
  await bucket.call(signal, (s3, options) => s3.deleteObject({ Bucket: bucket.name, Key }, options))
}

/** Removes every key with this prefix, including keys that are not valid paths. Returns false if there was none. */
export async function removeAll(bucket: Bucket, Prefix: string, signal: AbortSignal): Promise<boolean> {
  let removed = false
  let ContinuationToken: string | undefined
  do {
    const request = { Bucket: bucket.name, Prefix, MaxKeys: batch, EncodingType: 'url' as const }
    const token = ContinuationToken === undefined ? {} : { ContinuationToken }
    const page = await bucket.call(signal, (s3, options) => s3.listObjectsV2({ ...request, ...token }, options))
    const keys = (page.Contents ?? []).map(object => decodedKey(object.Key))
    await removeKeys(bucket, keys, signal)
    removed ||= keys.length > 0
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (ContinuationToken !== undefined)
  return removed
}

async function removeKeys(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const inXml = keys.filter(key => !noXml.test(key))
  const isDone = inXml.length === 0 || (await removeBatch(bucket, inXml, signal))
  await removeSingly(bucket, isDone ? keys.filter(key => noXml.test(key)) : keys, signal)
}

async function removeSingly(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const left = [...keys]
  const worker = async () => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) await removeKey(bucket, key, signal)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, left.length) }, worker))
}

/**
 * Deletes several keys with one request. Its status is 200 even if no key was deleted; the body lists each failure. Returns
 * false if the server does not implement the request.
 */
async function removeBatch(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<boolean> {
  const Delete = { Objects: keys.map(Key => ({ Key })), Quiet: true }
  // Many other servers support no newer checksum for this request.
  const checksum = bucket.settings.isAmazon ? {} : { ChecksumAlgorithm: 'MD5' as const }
  const result = await bucket.call(signal, async (s3, options) => {
    try {
      return await s3.deleteObjects({ Bucket: bucket.name, Delete, ...checksum }, options)
    } catch (error) {
      if (statusOf(error) === 501 || codeOf(error) === 'NotImplemented') return null
      throw error
    }
  })
  if (!result) return false
  const failure = result.Errors?.find(error => error.Code !== 'NoSuchKey')
  if (!failure) return true
  const cause = Object.assign(new Error(failure.Message ?? 'not deleted'), {
    name: failure.Code ?? 'Unknown',
    $metadata: { httpStatusCode: 500 },
  })
  throw toStorageError(cause, bucket.where)
}

function decodedKey(encoded: string | undefined): string {
  const key = decodeKey(encoded ?? '')
  if (key !== undefined) return key
  throw new StorageError(
    'UNAVAILABLE',
    'Something in this folder has a name that is not UTF-8: delete it at the back end.',
  )
}

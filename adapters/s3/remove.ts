import { StorageError } from '../contract.ts'
import type { Bucket } from './bucket.ts'
import { toStorageError } from './errors.ts'
import { decodeKey } from './keys.ts'

/** Keys in one DeleteObjects, and of one listing. */
const batch = 1000
/** Of keys that have to go one by one. */
const atOnce = 16
/** XML 1.0 can hold none of these: https://www.w3.org/TR/xml/#charsets */
const noXml = /[^\t\n\u0020-\ufffd]/

export async function removeKey(bucket: Bucket, Key: string, signal: AbortSignal): Promise<void> {
  await bucket.call(signal, (s3, options) => s3.deleteObject({ Bucket: bucket.name, Key }, options))
}

/** Every key that begins so, also such as no path can hold. False where there was none. */
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
  const single = keys.filter(key => noXml.test(key))
  if (inXml.length > 0) await removeBatch(bucket, inXml, signal)
  const worker = async () => {
    for (let key = single.pop(); key !== undefined; key = single.pop()) await removeKey(bucket, key, signal)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** The answer is a success even where no key was deleted: each failure stands in it. */
async function removeBatch(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const Delete = { Objects: keys.map(Key => ({ Key })), Quiet: true }
  // Many servers know no newer one for this request.
  const checksum = bucket.settings.isAmazon ? {} : { ChecksumAlgorithm: 'MD5' as const }
  const { Errors: errors = [] } = await bucket.call(signal, (s3, options) =>
    s3.deleteObjects({ Bucket: bucket.name, Delete, ...checksum }, options),
  )
  const failure = errors.find(error => error.Code !== 'NoSuchKey')
  if (!failure) return
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

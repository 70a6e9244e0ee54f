/** The versions of a bucket with versioning (https://docs.aws.amazon.com/AmazonS3/latest/userguide/versioning-workflows.html). */
import type { Readable } from 'node:stream'
import { noVersion, rangeHeader } from '../../bases/errors.ts'
import type { ObjectVersions } from '../../bases/objects/driver.ts'
import { sizeOf } from '../../bases/objects/read.ts'
import { type NativeVersion, StorageError } from '../../contract.ts'
import type { Bucket } from './client.ts'
import { copyObject } from './copy.ts'
import { decodeKey, etagOf, fileEntry, type Head } from './entry.ts'
import { statusOf, toStorageError } from './errors.ts'

/** Milliseconds. */
const probeTimeout = 5_000
/** The maximum length of a cursor. */
const maxCursor = 1024

/**
 * Returns whether the bucket keeps replaced objects: false if the server does not support versions or does not allow the request.
 * @throws UNAVAILABLE during an outage, because a guess would make Stowage keep each version twice or not at all
 */
export async function keepsVersions(bucket: Bucket): Promise<boolean> {
  try {
    const options = { abortSignal: AbortSignal.timeout(probeTimeout) }
    return (await bucket.raw.getBucketVersioning({ Bucket: bucket.name }, options)).Status === 'Enabled'
  } catch (error) {
    const status = statusOf(error)
    // 501 Not Implemented is an answer.
    if (status === 501 || (status !== undefined && status < 500 && status !== 429)) return false
    const known = toStorageError(error, bucket.where)
    if (known instanceof StorageError) throw known
    throw new StorageError('UNAVAILABLE', 'The back end did not say in time whether it keeps versions: try again.', {
      cause: error,
    })
  }
}

export function objectVersions(bucket: Bucket): ObjectVersions<Head> {
  const Bucket = bucket.name
  return {
    list: (key, options) => listVersions(bucket, key, options),

    head: (Key, VersionId, signal) =>
      bucket.call(signal, async (s3, options) => {
        try {
          return await s3.headObject({ Bucket, Key, VersionId }, options)
        } catch (error) {
          if (isUnknown(error)) return undefined
          throw error
        }
      }),

    async get(Key, VersionId, range, signal) {
      const part = range && { Range: rangeHeader(range) }
      const response = await bucket.stream(signal, async (s3, options) => {
        try {
          return await s3.getObject({ Bucket, Key, VersionId, ...part }, options)
        } catch (error) {
          throw isUnknown(error) ? noVersion(error) : error
        }
      })
      const stream = response.Body as Readable
      try {
        const size = sizeOf(range, response.ContentLength, response.ContentRange ?? '')
        const facts = { ...response, ContentLength: size }
        return { stream, length: response.ContentLength ?? 0, etag: fileEntry('', '', size, facts).etag, facts }
      } catch (error) {
        stream.destroy()
        throw error
      }
    },

    restore: (versionId, facts, destination, path) =>
      copyObject(bucket, { key: destination.key, facts, versionId }, destination, { path, unfinished: undefined }),

    async remove(Key, VersionId, signal) {
      await bucket.call(signal, async (s3, options) => {
        await s3.deleteObject({ Bucket, Key, VersionId }, options).catch(error => {
          if (!isUnknown(error)) throw error
        })
      })
    },

    async deleted(prefix, { cursor, limit, signal }) {
      const [, version, after] = /^(\S+) (.*)$/s.exec(cursor ?? '') ?? []
      const page = await bucket.call(signal, (s3, options) =>
        s3.listObjectVersions(
          {
            Bucket,
            Prefix: prefix,
            MaxKeys: limit,
            EncodingType: 'url',
            ...(after !== undefined && { KeyMarker: prefix + after, VersionIdMarker: version }),
          },
          options,
        ),
      )
      const latest = (page.DeleteMarkers ?? []).filter(({ IsLatest }) => IsLatest)
      const keys = latest.flatMap(({ Key }) => decodeKey(Key ?? '') ?? [])
      if (!page.IsTruncated) return { keys }
      const last = decodeKey(page.NextKeyMarker ?? '')
      const following = last && `${page.NextVersionIdMarker ?? 'null'} ${last.slice(prefix.length)}`
      if (following && following.length <= maxCursor) return { keys, cursor: following }
      throw new StorageError('UNAVAILABLE', 'The list cannot continue, because a name is too long or is not UTF-8.')
    },
  }
}

/** A text that is no id of this server is 400, also for HEAD, whose response has no code. */
function isUnknown(error: unknown): boolean {
  return [400, 404, 405].includes(statusOf(error) ?? 0)
}

/**
 * Lists with one request. The key itself is the first of all keys with the prefix. The cursor is the time at which the next version was
 * replaced, and the id after which the page begins.
 */
async function listVersions(
  bucket: Bucket,
  key: string,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): ReturnType<ObjectVersions<Head>['list']> {
  const [, time, after] = /^(\d{1,15}) (.+)$/.exec(cursor ?? '') ?? []
  const page = await bucket.call(signal, (s3, options) =>
    s3.listObjectVersions(
      {
        Bucket: bucket.name,
        Prefix: key,
        // The first page also has the present object or its delete marker.
        MaxKeys: Math.min(1000, limit + 1),
        EncodingType: 'url',
        ...(after !== undefined && { KeyMarker: key, VersionIdMarker: after }),
      },
      options,
    ),
  )
  const { Versions = [], DeleteMarkers = [] } = page
  const all = [
    ...Versions.map(version => ({ ...version, isMarker: false })),
    ...DeleteMarkers.map(marker => ({ ...marker, Size: undefined, ETag: undefined, isMarker: true })),
  ]
    .filter(each => decodeKey(each.Key ?? '') === key)
    .toSorted((a, b) => (b.LastModified?.getTime() ?? 0) - (a.LastModified?.getTime() ?? 0))
  const versions: NativeVersion[] = []
  let replacedAt = time === undefined ? undefined : new Date(Number(time))
  let [last, seen] = ['', 0]
  for (const { VersionId = 'null', LastModified, IsLatest, isMarker, Size, ETag } of all) {
    if (versions.length === limit) break
    if (!IsLatest && !isMarker) {
      const facts = { size: Size ?? null, modifiedAt: LastModified ?? null, etag: etagOf(ETag) }
      versions.push({ id: VersionId, ...facts, ...(replacedAt && { replacedAt }) })
    }
    replacedAt = LastModified
    last = VersionId
    seen += 1
  }
  // After the last version of the key, other keys with the prefix may follow.
  const isMore = seen > 0 && (seen < all.length || (page.IsTruncated === true && page.NextKeyMarker === key))
  return { versions, ...(isMore && { cursor: `${replacedAt?.getTime() ?? 0} ${last}` }) }
}

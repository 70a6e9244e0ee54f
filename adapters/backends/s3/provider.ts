import type { Readable } from 'node:stream'
import { hasCode, rangeHeader } from '../../bases/errors.ts'
import { inParallel } from '../../bases/limits.ts'
import type { FolderPage, ListedKey, ObjectDriver, Selection } from '../../bases/objects/driver.ts'
import { ObjectProvider } from '../../bases/objects/provider.ts'
import { sizeOf } from '../../bases/objects/read.ts'
import type { Host } from '../../contract.ts'
import { Bucket, type Conditions, defaultLimits, type Limits } from './client.ts'
import type { S3Settings } from './config.ts'
import { copyObject, headOf } from './copy.ts'
import { fileEntry, type Head, isName, isProbe, Keys } from './entry.ts'
import { codeOf, statusOf, toStorageError, unreachable } from './errors.ts'
import { linkToRead, linkToWrite } from './links.ts'
import { probe } from './probe.ts'
import { fileStore, maxFileSize, uploadDriver } from './uploads.ts'
import { keepsVersions, objectVersions } from './versions.ts'
import { putWhole } from './write.ts'

/** @throws INVALID_CONFIG; UNAVAILABLE during an outage */
export async function openProvider(
  settings: S3Settings,
  host: Host,
  limits: Partial<Limits> = {},
): Promise<ObjectProvider<Head>> {
  const bucket = new Bucket(settings, host, { ...defaultLimits, ...limits })
  try {
    const isVersioned = keepsVersions(bucket)
    // If the bucket cannot be used, the error of the probe is reported instead.
    isVersioned.catch(() => {})
    const conditions = await probe(bucket)
    return providerOf(bucket, host, conditions, await isVersioned)
  } catch (error) {
    bucket.close()
    throw error
  }
}

/** @param conditions undefined if the back end did not respond: they are then tested before the first change */
export function providerOf(
  bucket: Bucket,
  host: Pick<Host, 'warn'>,
  conditions: Conditions | undefined,
  isVersioned = false,
): ObjectProvider<Head> {
  const driver = s3Driver(bucket, conditions)
  return new ObjectProvider(isVersioned ? { ...driver, versions: objectVersions(bucket) } : driver, host)
}

function s3Driver(bucket: Bucket, conditions: Conditions | undefined): ObjectDriver<Head> {
  const keys = new Keys(bucket.settings.base)
  let isTested = conditions !== undefined
  if (conditions) bucket.conditions = conditions
  return {
    limits: bucket.limits,
    traits: { maxFileSize, listOrder: 'keys' },
    keys,
    uploads: uploadDriver(bucket, keys),
    folderStyle: 'inside',
    fileId: key => bucket.fileId(key),
    fileEntry: (name, key, head) => fileEntry(name, bucket.fileId(key), head.ContentLength ?? 0, head),
    isFolder: () => false,
    isName,
    isHidden: (name, isPrefix) => isPrefix && isProbe(name),
    factsOf: entry => headOf(entry, bucket.limits.copyBytes),

    async prepare() {
      if (isTested) return
      const tested = await probe(bucket)
      if (tested) bucket.conditions = tested
      isTested = tested !== undefined
    },

    head: (key, signal) => bucket.head(key, signal),
    list: (prefix, { after, ...options }, signal) => bucket.list(prefix, { ...options, token: after }, signal),
    page: selection => pageOf(bucket, selection),

    async get(Key, range, etag, signal) {
      const condition = {
        ...(range && { Range: rangeHeader(range) }),
        ...(typeof etag === 'string' && { IfMatch: `"${etag}"` }),
      }
      const response = await bucket.stream(signal, (s3, options) =>
        s3.getObject({ Bucket: bucket.name, Key, ...condition }, options),
      )
      const stream = response.Body as Readable
      try {
        const size = sizeOf(range, response.ContentLength, response.ContentRange ?? '')
        const facts = { ...response, ContentLength: size }
        const { etag: version } = fileEntry('', '', size, facts)
        return { stream, length: response.ContentLength ?? 0, etag: version, facts }
      } catch (error) {
        stream.destroy()
        throw error
      }
    },

    unreachable: error => unreachable(error, bucket.where),
    put: (destination, file, bytes) => putWhole(bucket, destination, file, bytes),
    fileStore: (destination, body, options) => fileStore(bucket, destination, body, options),
    copy: (source, destination, options) => copyObject(bucket, source, destination, options),
    remove: (key, signal) => bucket.remove(key, signal),
    removeAll: (all, signal) => removeAll(bucket, all, signal),
    makeFolder: (path, signal) => makeMarker(bucket, keys.folder(path), signal),

    async presign(key, { method, expiresIn, responseHeaders }) {
      const url =
        method === 'GET'
          ? await linkToRead(bucket, key, expiresIn, responseHeaders)
          : await linkToWrite(bucket, key, expiresIn)
      return url && { url, headers: {} }
    },

    close: () => bucket.close(),
  }
}

/** The maximum number of keys in one response. */
const maxKeys = 1000
/** This character sorts after everything that may follow a `/`, except repetitions of itself. */
const last = '\u{10FFFF}'

/**
 * Returns one page of a folder with one request. Entries are sorted by key, where a folder's name ends in `/`. The cursor is the last
 * name of the page, with `/` for a folder, so it stays valid while entries are added and removed.
 */
async function pageOf(
  bucket: Bucket,
  { folderKey, cursor, from, limit, signal }: Selection,
): Promise<FolderPage<Head>> {
  const after = cursor ?? (from ? textBefore(from) : undefined)
  const startAfter = after?.endsWith('/') ? after + last : after
  // The first page also gets the folder's own marker.
  const count = Math.min(maxKeys, limit + (after === undefined ? 1 : 0))
  const start = startAfter === undefined ? undefined : folderKey + startAfter
  const { items, next } = await bucket.list(folderKey, { limit: count, delimiter: '/', startAfter: start }, signal)
  const nameOf = ({ key }: ListedKey<Head>) => key?.slice(folderKey.length)
  const names = items
    .filter(item => !(after !== undefined && item.key !== undefined && compare(nameOf(item) ?? '', after) <= 0))
    .sort((a, b) => compare(a.key ?? '', b.key ?? ''))
  const marker = names.findIndex(item => nameOf(item) === '')
  const page = names.slice(0, limit + (marker < 0 ? 0 : 1))
  // A name that is not UTF-8 cannot be a cursor. Such names sort first here, so the last name of the page is valid.
  const end = page.at(-1)
  const isLast = next === undefined && names.length === page.length
  return {
    items: page,
    cursor: end && !isLast ? nameOf(end) || undefined : undefined,
    // Nothing else can sort between the name of a file and that of the folder on this page.
    mayBeEarlier: key =>
      after?.startsWith(key.slice(folderKey.length)) === true && compare(after, `${key}/`.slice(folderKey.length)) < 0,
  }
}

/** Returns a text that sorts between `text` and all names that sort before it. */
function textBefore(text: string): string {
  const points = [...text]
  const code = points.pop()?.codePointAt(0) ?? 0
  const start = points.join('')
  if (code === 0) return start
  // There are no characters from U+D800 to U+DFFF.
  const before = code === 0xe000 ? 0xd7ff : code - 1
  return start + String.fromCodePoint(before) + last
}

/** Compares by the bytes of UTF-8, as servers do. JavaScript compares by UTF-16. */
export function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Makes the marker of a folder. All markers are made here, so the condition of PutObject suffices. */
async function makeMarker(bucket: Bucket, Key: string, signal: AbortSignal | undefined): Promise<boolean> {
  const marker = { Bucket: bucket.name, Key, Body: Buffer.alloc(0), ContentType: 'application/x-directory' }
  const put = (condition: object) =>
    bucket.call(signal, (s3, options) => s3.putObject({ ...marker, ...condition }, options))
  if (!bucket.conditions.put) {
    return await bucket.exclusively(Key, signal, async () => {
      if (await bucket.head(Key, signal)) return false
      await put({})
      return true
    })
  }
  try {
    await put({ IfNoneMatch: '*' })
    return true
  } catch (error) {
    if (hasCode(error, 'PRECONDITION_FAILED')) return false
    throw error
  }
}

/** The number of concurrent deletions of single keys. */
const removedAtOnce = 16
/** Characters that XML 1.0 cannot contain: https://www.w3.org/TR/xml/#charsets */
const noXml = /[^\t\n\u0020-\ufffd]/

/** Deletes at most 1,000 keys. */
async function removeAll(bucket: Bucket, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const inXml = keys.filter(key => !noXml.test(key))
  const isDone = inXml.length === 0 || (await removeBatch(bucket, inXml, signal))
  const left = isDone ? keys.filter(key => noXml.test(key)) : keys
  await inParallel(left, removedAtOnce, key => bucket.remove(key, signal))
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

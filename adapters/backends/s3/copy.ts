import type { CompletedPart } from '@aws-sdk/client-s3'
import { maxParts } from '../../bases/objects/parts.ts'
import { withGrace } from '../../bases/objects/send.ts'
import type { Entry, StoragePath, Unfinished } from '../../contract.ts'
import type { Bucket } from './bucket.ts'
import { copySource, defaultType, etagOf, fileEntry, type Head } from './entry.ts'
import { complete } from './multipart.ts'
import type { Conditions } from './probe.ts'
import { type Destination, publish, storedEntry } from './publish.ts'
import { beginRecorded } from './write.ts'

/** The number of parts that the back end copies concurrently. */
const atOnce = 8

interface CopySource {
  key: string
  /** The facts about the source that a copy needs. A copy in parts also sets its headers. */
  head: Head
}

/** Bytes. The back end copies such a file at once, so its response comes soon. */
const maxDirectCopy = 8 * 1024 * 1024

export interface CopyOptions {
  /** The path of the destination. */
  path: StoragePath
  signal: AbortSignal
  unfinished: Unfinished | undefined
}

/**
 * Returns what `copyObject` has to know, from an entry. Returns undefined where the entry does not suffice.
 * @param maxBytes the size of the largest file that is copied in one request, which keeps the headers by itself
 */
export function headOf({ kind, size, etag, mimeType, checksums }: Entry, maxBytes: number): Head | undefined {
  if (kind !== 'file' || size === null || size > maxBytes || etag === null) return undefined
  // An entry with an MD5 does not come from a listing, so the object has no other type.
  const ContentType = mimeType ?? (checksums?.md5 ? defaultType : undefined)
  return { ContentLength: size, ETag: `"${etag}"`, ContentType }
}

/** Copies inside the back end. Fails where the source changes after it was checked. */
export async function copyObject(
  bucket: Bucket,
  conditions: Conditions,
  { key, head }: CopySource,
  destination: Destination,
  { path, signal, unfinished }: CopyOptions,
): Promise<Entry> {
  const size = head.ContentLength ?? 0
  const source = { CopySource: copySource(bucket.name, key), CopySourceIfMatch: head.ETag }
  if (size > bucket.limits.copyBytes) {
    return await copyInParts(bucket, conditions, { ...source, head }, destination, { path, signal, unfinished })
  }
  const copied = await publish(bucket, conditions, destination, 'copy', async condition => {
    // Without a condition, the copy can be repeated.
    if (size <= maxDirectCopy && !condition.IfNoneMatch) {
      const direct = await bucket.direct?.copy(destination.key, { source: source.CopySource, etag: head.ETag })
      if (typeof direct === 'object') {
        const { ServerSideEncryption, ...CopyObjectResult } = direct.value
        return { CopyObjectResult, ServerSideEncryption }
      }
    }
    const request = { Bucket: bucket.name, Key: destination.key, ...source, ...condition }
    return await bucket.slowCall(undefined, s3 => s3.copyObject(request))
  })
  const { CopyObjectResult: result, ServerSideEncryption } = copied
  if (!result?.ETag || !result.LastModified) {
    return await storedEntry(bucket, destination, size, [etagOf(result?.ETag)])
  }
  const described = { ...result, ServerSideEncryption, ContentType: head.ContentType }
  return fileEntry(destination.name, bucket.fileId(destination.key), size, described)
}

async function copyInParts(
  bucket: Bucket,
  conditions: Conditions,
  { head, ...source }: { CopySource: string; CopySourceIfMatch: string | undefined; head: Head },
  destination: Destination,
  { path, signal, unfinished }: CopyOptions,
): Promise<Entry> {
  const size = head.ContentLength ?? 0
  const partBytes = Math.max(bucket.limits.copyPartBytes, Math.ceil(size / maxParts))
  // A copy in one request keeps these by itself.
  const { ContentType, ContentEncoding, ContentDisposition, ContentLanguage, CacheControl, Metadata } = head
  const headers = { ContentType, ContentEncoding, ContentDisposition, ContentLanguage, CacheControl, Metadata }
  const { upload, ended, free } = await beginRecorded(bucket, { path, key: destination.key, headers }, unfinished)
  const parts: CompletedPart[] = []
  const failing = new AbortController()
  const stopped = AbortSignal.any([signal, failing.signal])
  const remaining = Array.from({ length: Math.ceil(size / partBytes) }, (_, i) => i).reverse()
  const worker = async () => {
    for (let index = remaining.pop(); index !== undefined; index = remaining.pop()) {
      const start = index * partBytes
      const CopySourceRange = `bytes=${start}-${Math.min(size, start + partBytes) - 1}`
      const PartNumber = index + 1
      const part = { ...upload, ...source, PartNumber, CopySourceRange }
      const { CopyPartResult } = await withGrace(stopped, bucket.limits.graceTime, lateSignal =>
        bucket.slowCall(lateSignal, (s3, options) => s3.uploadPartCopy(part, options)),
      )
      parts[index] = { PartNumber, ETag: CopyPartResult?.ETag }
    }
  }
  const copyNext = () =>
    worker().catch(error => {
      failing.abort(error)
    })
  try {
    await Promise.all(Array.from({ length: atOnce }, copyNext))
    stopped.throwIfAborted()
    const entry = await complete(bucket, conditions, upload, destination, { parts, bytes: size })
    await ended()
    return entry
  } catch (error) {
    await free()
    throw error
  }
}

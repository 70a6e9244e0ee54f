import type { CompletedPart } from '@aws-sdk/client-s3'
import { inParallel } from '../../bases/limits.ts'
import type { Destination } from '../../bases/objects/driver.ts'
import { maxParts, withGrace } from '../../bases/objects/parts.ts'
import type { Entry, StoragePath, Unfinished } from '../../contract.ts'
import type { Bucket } from './client.ts'
import { copySource, defaultType, etagOf, fileEntry, type Head } from './entry.ts'
import { beginRecorded, complete } from './multipart.ts'
import { publish, storedEntry } from './write.ts'

/** The number of parts that the back end copies concurrently. */
const atOnce = 8

/** Bytes. The back end copies such a file at once, so its response comes soon. */
const maxDirectCopy = 8 * 1024 * 1024

interface CopyOptions {
  /** The path of the destination. */
  path: StoragePath
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

/**
 * Copies inside the back end. Fails where the source changes after it was checked. A copy in parts also sets the headers of `facts`.
 * @param source.versionId the version to copy. Default: the present object
 */
export async function copyObject(
  bucket: Bucket,
  { key, facts, versionId }: { key: string; facts: Head; versionId?: string },
  destination: Destination,
  options: CopyOptions,
): Promise<Entry> {
  const size = facts.ContentLength ?? 0
  const version = versionId === undefined ? '' : `?versionId=${encodeURIComponent(versionId)}`
  const source = { CopySource: copySource(bucket.name, key) + version, CopySourceIfMatch: facts.ETag }
  if (size > bucket.limits.copyBytes) return await copyInParts(bucket, source, facts, destination, options)
  const copied = await publish(bucket, destination, 'copy', async condition => {
    // Without a condition, the copy can be repeated.
    if (size <= maxDirectCopy && !condition.IfNoneMatch && versionId === undefined) {
      const direct = await bucket.direct?.copy(destination.key, { source: source.CopySource, etag: facts.ETag })
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
  const described = { ...result, ServerSideEncryption, ContentType: facts.ContentType }
  return fileEntry(destination.name, bucket.fileId(destination.key), size, described)
}

async function copyInParts(
  bucket: Bucket,
  source: { CopySource: string; CopySourceIfMatch: string | undefined },
  facts: Head,
  destination: Destination,
  { path, unfinished }: CopyOptions,
): Promise<Entry> {
  const { signal } = destination
  const size = facts.ContentLength ?? 0
  const partBytes = Math.max(bucket.limits.copyPartBytes, Math.ceil(size / maxParts))
  // A copy in one request keeps these by itself.
  const { ContentType, ContentEncoding, ContentDisposition, ContentLanguage, CacheControl, Metadata } = facts
  const headers = { ContentType, ContentEncoding, ContentDisposition, ContentLanguage, CacheControl, Metadata }
  const { upload, ended, free } = await beginRecorded(bucket, { path, key: destination.key, headers }, unfinished)
  const parts: CompletedPart[] = []
  const copyPart = async (index: number) => {
    const start = index * partBytes
    const CopySourceRange = `bytes=${start}-${Math.min(size, start + partBytes) - 1}`
    const PartNumber = index + 1
    const part = { ...upload, ...source, PartNumber, CopySourceRange }
    const { CopyPartResult } = await withGrace(signal, bucket.limits.graceTime, late =>
      bucket.slowCall(late, (s3, options) => s3.uploadPartCopy(part, options)),
    )
    parts[index] = { PartNumber, ETag: CopyPartResult?.ETag }
  }
  try {
    await inParallel(Array.from({ length: Math.ceil(size / partBytes) }).keys(), atOnce, copyPart)
    signal.throwIfAborted()
    const entry = await complete(bucket, upload, destination, { parts, bytes: size })
    await ended()
    return entry
  } catch (error) {
    await free()
    throw error
  }
}

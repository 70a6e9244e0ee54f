import type { CompletedPart, HeadObjectCommandOutput } from '@aws-sdk/client-s3'
import type { Entry, StoragePath, Unfinished } from '../contract.ts'
import { beginNoted } from './begin.ts'
import type { Bucket } from './bucket.ts'
import { etagOf } from './entry.ts'
import { withGrace } from './grace.ts'
import { copySource } from './keys.ts'
import { complete } from './multipart.ts'
import { maxParts } from './parts.ts'
import type { Conditions } from './probe.ts'
import { publish, storedEntry, type Target } from './publish.ts'

/** The number of parts that the back end copies concurrently. */
const atOnce = 8

interface From {
  key: string
  head: HeadObjectCommandOutput
}

export interface CopyOptions {
  /** Of the target. */
  path: StoragePath
  signal: AbortSignal
  unfinished: Unfinished | undefined
}

/** Copies inside the back end. Fails where the source changes after it was checked. */
export async function copyObject(
  bucket: Bucket,
  conditions: Conditions,
  { key, head }: From,
  target: Target,
  { path, signal, unfinished }: CopyOptions,
): Promise<Entry> {
  const size = head.ContentLength ?? 0
  const source = { CopySource: copySource(bucket.name, key), CopySourceIfMatch: head.ETag }
  if (size > bucket.limits.copyBytes) {
    return await copyInParts(bucket, conditions, { ...source, head }, target, { path, signal, unfinished })
  }
  const etag = await publish(bucket, conditions, target, 'copy', async condition => {
    const request = { Bucket: bucket.name, Key: target.key, ...source, ...condition }
    const answer = await bucket.step(undefined, s3 => s3.copyObject(request))
    return etagOf(answer.CopyObjectResult?.ETag)
  })
  return await storedEntry(bucket, target, size, [etag])
}

async function copyInParts(
  bucket: Bucket,
  conditions: Conditions,
  { head, ...source }: { CopySource: string; CopySourceIfMatch: string | undefined; head: HeadObjectCommandOutput },
  target: Target,
  { path, signal, unfinished }: CopyOptions,
): Promise<Entry> {
  const size = head.ContentLength ?? 0
  const partBytes = Math.max(bucket.limits.copyPartBytes, Math.ceil(size / maxParts))
  // A copy in one request keeps these by itself.
  const { ContentType, ContentEncoding, ContentDisposition, ContentLanguage, CacheControl, Metadata } = head
  const headers = { ContentType, ContentEncoding, ContentDisposition, ContentLanguage, CacheControl, Metadata }
  const { upload, ended, free } = await beginNoted(bucket, { path, key: target.key, headers }, unfinished)
  const parts: CompletedPart[] = []
  const failing = new AbortController()
  const either = AbortSignal.any([signal, failing.signal])
  const rest = Array.from({ length: Math.ceil(size / partBytes) }, (_, i) => i).reverse()
  const worker = async () => {
    for (let index = rest.pop(); index !== undefined; index = rest.pop()) {
      const start = index * partBytes
      const CopySourceRange = `bytes=${start}-${Math.min(size, start + partBytes) - 1}`
      const PartNumber = index + 1
      const part = { ...upload, ...source, PartNumber, CopySourceRange }
      const { CopyPartResult } = await withGrace(either, bucket.limits.graceTime, cut =>
        bucket.step(cut, (s3, options) => s3.uploadPartCopy(part, options)),
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
    either.throwIfAborted()
    const entry = await complete(bucket, conditions, upload, target, { parts, bytes: size })
    await ended()
    return entry
  } catch (error) {
    await free()
    throw error
  }
}

import { randomUUID } from 'node:crypto'
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { LruMap } from '../../bases/limits.ts'
import type { LinkHeaders } from '../../contract.ts'
import type { Bucket } from './client.ts'
import { copySource } from './entry.ts'
import { probeKey, removeProbe } from './probe.ts'

/** Seconds: https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-presigned-url.html */
const maxExpiry = 7 * 24 * 3600

/** Milliseconds for each test request. */
const timeout = 10_000

/** True for each bucket whose server refuses unsigned headers, by endpoint and bucket. */
const known = new LruMap<string, Promise<boolean>>(1000)

export async function linkToRead(bucket: Bucket, Key: string, seconds: number, headers?: LinkHeaders): Promise<URL> {
  const shown = headers && {
    ResponseContentType: headers.contentType,
    ResponseContentDisposition: headers.contentDisposition,
  }
  return await sign(bucket, new GetObjectCommand({ Bucket: bucket.name, Key, ...shown }), seconds)
}

/**
 * Returns null where the server accepts unsigned `x-amz-*` headers, as Ceph 16 does. There, the holder of a link could copy
 * any object of the account to the key (`x-amz-copy-source`) or make it public (`x-amz-acl`). S3 requires a signature for
 * these headers: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export async function linkToWrite(bucket: Bucket, Key: string, seconds: number): Promise<URL | null> {
  const bucketKey = `${bucket.settings.endpoint} ${bucket.name}`
  const refusing = known.get(bucketKey) ?? refusesUnsignedHeaders(bucket)
  known.set(bucketKey, refusing)
  // Do not cache the result of an outage.
  refusing.catch(() => known.delete(bucketKey))
  if (!(await refusing.catch(() => false))) return null
  return await sign(bucket, new PutObjectCommand({ Bucket: bucket.name, Key }), seconds)
}

/** Signs a link. Sends no request. */
export async function sign(
  bucket: Bucket,
  command: GetObjectCommand | PutObjectCommand,
  seconds: number,
): Promise<URL> {
  return new URL(await getSignedUrl(bucket.signer, command, { expiresIn: Math.min(seconds, maxExpiry) }))
}

/**
 * Writes a test object through a plain link, then with each header added. Returns true if the server refuses every header.
 * @throws where the plain link does not work, since the test then proves nothing
 */
async function refusesUnsignedHeaders(bucket: Bucket): Promise<boolean> {
  const Key = probeKey(bucket)
  const added: Record<string, string>[] = [
    { 'x-amz-copy-source': copySource(bucket.name, Key) },
    { 'x-amz-acl': 'private' },
    { 'x-amz-meta-probe': randomUUID() },
  ]
  const versions = new Set<string | undefined>()
  const put = async (headers: Record<string, string>) => {
    const url = await sign(bucket, new PutObjectCommand({ Bucket: bucket.name, Key }), 60)
    const signal = AbortSignal.timeout(timeout)
    const response = await bucket.fetch(url, { method: 'PUT', headers, signal })
    const text = await response.text()
    if (response.ok) versions.add(response.headers.get('x-amz-version-id') ?? undefined)
    return { ok: response.ok, isDenied: /<Code>(AccessDenied|SignatureDoesNotMatch)<\/Code>/.test(text) }
  }
  try {
    if (!(await put({})).ok) throw new Error('A presigned request was refused.')
    for (const headers of added) if (!(await put(headers)).isDenied) return false
    return true
  } finally {
    await removeProbe(bucket, Key, versions)
  }
}

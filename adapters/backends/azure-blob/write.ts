/** Requests that make a blob visible: a write in one request, and copies. */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { alreadyExists, hasCode } from '../../bases/errors.ts'
import type { Destination, NewFile } from '../../bases/objects/driver.ts'
import { delayBefore, pause } from '../../bases/retry.ts'
import { type Entry, StorageError } from '../../contract.ts'
import { type BlobResponse, type Container, wasRepeated } from './client.ts'
import {
  type Described,
  dateOf,
  describe,
  etagOf,
  fileEntry,
  headersOf,
  keptTime,
  metadataHeaders,
  timeHeader,
} from './entry.ts'

/**
 * Runs the request that makes a file visible. Without `overwrite`, the request itself never replaces a file.
 * @param condition the headers of this request
 * @throws ALREADY_EXISTS
 */
async function publish<T>(
  container: Container,
  { key, overwrite }: Destination,
  step: (condition: Record<string, string>) => Promise<T>,
): Promise<T> {
  if (overwrite) return await step({})
  try {
    return await step({ 'if-none-match': '*' })
  } catch (error) {
    // The step may have failed on a condition of its own, such as the version of a copy's source.
    const exists =
      hasCode(error, 'ALREADY_EXISTS') || (hasCode(error, 'PRECONDITION_FAILED') && (await container.head(key)))
    throw exists ? alreadyExists(error) : error
  }
}

/** Stores a file in one request. Azure compares its bytes with their MD5, and keeps that. @throws ALREADY_EXISTS */
export async function putWhole(
  container: Container,
  destination: Destination,
  file: NewFile,
  body: Buffer,
  /** In base64. */
  md5: string,
): Promise<Entry> {
  const { key } = destination
  const own = headersOf(file)
  const headers = { ...own, 'x-ms-blob-type': 'BlockBlob', 'content-md5': md5 }
  const stored = await publish(container, destination, async condition => {
    try {
      const response = await container.call({ method: 'PUT', key, headers: { ...headers, ...condition }, body })
      return storedBlob(response, file, body.length, md5)
    } catch (error) {
      // An earlier attempt may have stored the file although its response was lost. The existing file is then our own.
      const found = wasRepeated(error) ? await container.head(key) : undefined
      if (!found || found.md5 !== md5 || found.size !== body.length) throw error
      return found
    }
  })
  return fileEntry(destination.name, container.fileId(key), stored)
}

/** Returns what the response to a write, and the request itself, say about the file. */
export function storedBlob(
  { headers }: Pick<BlobResponse, 'headers'>,
  file: NewFile,
  size: number,
  md5: string | null,
): Described {
  const metadata = file.modifiedAt ? { mtime: file.modifiedAt.toISOString() } : {}
  return {
    ...describe({}, size, md5),
    etag: etagOf(headers.etag),
    lastModified: dateOf(headers['last-modified']),
    contentType: file.mimeType ?? null,
    metadata,
  }
}

/** Bytes that are hashed without a pause, since the whole process waits meanwhile. */
const hashedAtOnce = 1024 * 1024

/** Returns the MD5 in base64. Other work runs in between. */
export async function md5Of(bytes: Buffer): Promise<string> {
  const hash = createHash('md5')
  for (let start = 0; start < bytes.length; start += hashedAtOnce) {
    if (start > 0) await nextTurn()
    hash.update(bytes.subarray(start, start + hashedAtOnce))
  }
  return hash.digest('base64')
}

/** Milliseconds between looks at a copy that takes longer. */
const lookInterval = { first: 100, longest: 5_000 }

/**
 * Copies inside the account, with the time, the type and the metadata. Fails with PRECONDITION_FAILED or NOT_FOUND where the
 * source has changed.
 */
export async function copyBlob(
  container: Container,
  { key, versionId, facts: blob }: { key: string; versionId?: string; facts: Described },
  destination: Destination,
): Promise<Entry> {
  // Azure keeps the metadata of the source unless it gets others.
  const added = keptTime(blob) ? {} : { ...metadataHeaders(blob.metadata), ...timeHeader(blob.lastModified) }
  const { etag, lastModified } = await copyTo(container, { key, versionId, blob }, destination, added)
  const kept = { ...blob, etag, lastModified, metadata: { ...blob.metadata, mtime: timeOf(blob) } }
  return fileEntry(destination.name, container.fileId(destination.key), kept)
}

function timeOf(blob: Described): string {
  return (keptTime(blob) ?? blob.lastModified)?.toISOString() ?? ''
}

interface CopySource {
  key: string
  /** Undefined for the present content. */
  versionId?: string | undefined
  blob: Pick<Described, 'etag'>
}

/** Makes a blob, or a version of one, visible under a name. @param added headers of the request */
export async function copyTo(
  container: Container,
  { key, versionId, blob: { etag: version } }: CopySource,
  destination: Destination,
  added: Record<string, string> = {},
): Promise<Pick<Described, 'etag' | 'lastModified'>> {
  const source = container.urlOf(key, versionId)
  const headers = {
    ...added,
    'x-ms-copy-source': source.href,
    ...(version && { 'x-ms-source-if-match': `"${version}"` }),
  }
  const response = await publish(container, destination, async condition => {
    const request = {
      method: 'PUT' as const,
      key: destination.key,
      headers: { ...headers, ...condition },
      isSlow: true,
    }
    try {
      return await container.call(request)
    } catch (error) {
      // An earlier attempt may have copied the file although its response was lost.
      const own = wasRepeated(error) ? await copyFrom(container, source, destination.key) : undefined
      if (!own) throw error
      return own
    }
  })
  const ended = await ending(container, destination.key, response)
  return { etag: etagOf(ended.headers.etag), lastModified: dateOf(ended.headers['last-modified']) }
}

/** Returns the blob if it is a copy of `source`. */
async function copyFrom(container: Container, source: URL, key: string): Promise<BlobResponse | undefined> {
  const found = await container.call({ method: 'HEAD', key }).catch(() => undefined)
  const from = URL.parse(found?.headers['x-ms-copy-source']?.toString() ?? '')
  const version = (url: URL) => url.searchParams.get('versionid')
  return from?.pathname === source.pathname && version(from) === version(source) ? found : undefined
}

/** Waits for a copy that Azure makes after its response. It does so only when the account is busy. */
async function ending(container: Container, key: string, response: BlobResponse): Promise<BlobResponse> {
  const id = response.headers['x-ms-copy-id']
  let latest = response
  for (let look = 0; latest.headers['x-ms-copy-status'] === 'pending'; look += 1) {
    await pause(delayBefore(look, lookInterval))
    latest = await container.call({ method: 'HEAD', key })
    // Somebody else has replaced the file since.
    if (latest.headers['x-ms-copy-id'] !== id) return response
  }
  const status = latest.headers['x-ms-copy-status']
  if (status === undefined || status === 'success') return latest
  await container.remove(key)
  throw new StorageError('UNAVAILABLE', 'Azure did not finish the copy, and the file was removed: try again.')
}

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Entry } from '../../contract.ts'
import { type BlobResponse, type Container, wasRepeated } from './container.ts'
import { type Described, dateOf, describe, etagOf, type FileHeaders, fileEntry, headersOf } from './entry.ts'
import { alreadyExists, hasCode } from './errors.ts'

/** The blob that a write, copy or upload creates or replaces. */
export interface Destination {
  key: string
  /** The last segment of the path. */
  name: string
  overwrite: boolean
}

/**
 * Runs the request that makes a file visible. Without `overwrite`, the request itself never replaces a file.
 * @param condition the headers of this request
 * @throws ALREADY_EXISTS
 */
export async function publish<T>(
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

export interface WholeFile {
  body: Buffer
  /** In base64. */
  md5: string
  file: FileHeaders
}

/** Stores a file in one request. Azure compares its bytes with their MD5, and keeps that. @throws ALREADY_EXISTS */
export async function putWhole(
  container: Container,
  destination: Destination,
  { body, md5, file }: WholeFile,
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
  file: FileHeaders,
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

/** Bytes that are hashed at once, since the whole process waits meanwhile. */
const hashedAtOnce = 1024 * 1024

/** Returns the MD5 in base64. It takes turns with other work. */
export async function md5Of(bytes: Buffer): Promise<string> {
  const hash = createHash('md5')
  for (let start = 0; start < bytes.length; start += hashedAtOnce) {
    if (start > 0) await nextTurn()
    hash.update(bytes.subarray(start, start + hashedAtOnce))
  }
  return hash.digest('base64')
}

import { notAFile, rangeHeader } from '../../bases/errors.ts'
import type { OpenedObject } from '../../bases/objects/read.ts'
import { sizeOf } from '../../bases/objects/read.ts'
import { type ByteRange, StorageError } from '../../contract.ts'
import type { Container } from './client.ts'
import { type Described, describe } from './entry.ts'

/**
 * Opens the content of a blob, or of one of its versions.
 * @param of.etag the only content to read; undefined or null for any
 * @throws NOT_FOUND, NOT_A_FILE, PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE
 */
export async function openBlob(
  container: Container,
  of: { key: string; versionId?: string; etag?: string | null | undefined },
  range: ByteRange | undefined,
  signal: AbortSignal,
): Promise<OpenedObject & { facts: Described }> {
  const { key, versionId, etag } = of
  const headers = {
    ...(range && { range: rangeHeader(range) }),
    ...(typeof etag === 'string' && { 'if-match': `"${etag}"` }),
  }
  const query = versionId === undefined ? {} : { versionid: versionId }
  const stream = await container.stream({ method: 'GET', key, query, headers }, signal)
  const { 'content-length': length, 'content-range': contentRange = '' } = stream.headers
  try {
    // The emulator responds to a range at the end with no bytes.
    if (range && length === '0') throw pastEnd()
    const size = sizeOf(range, length === undefined ? undefined : Number(length), contentRange)
    const md5 = range ? (stream.headers['x-ms-blob-content-md5']?.toString() ?? null) : undefined
    const facts = describe(stream.headers, size, md5)
    if (facts.isFolder) throw notAFile()
    return { stream, length: Number(length), etag: facts.etag, facts }
  } catch (error) {
    stream.destroy()
    throw error
  }
}

function pastEnd(): StorageError {
  return new StorageError('RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.')
}

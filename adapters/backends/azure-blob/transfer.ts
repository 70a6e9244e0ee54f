import { setTimeout as sleep } from 'node:timers/promises'
import { type Call, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { type BlobResponse, type Container, wasRepeated } from './container.ts'
import { type Described, dateOf, etagOf, fileEntry, keptTime, metadataHeaders, timeHeader } from './entry.ts'
import { alreadyExists, hasCode, notAFile, notFound } from './errors.ts'
import type { Tree } from './folders.ts'
import { rename } from './hierarchy.ts'
import { type Destination, publish } from './publish.ts'

/** Milliseconds between looks at a copy that takes longer: at first, and at most. */
const firstLook = 100
const longestPause = 5_000

interface CopySource {
  key: string
  blob: Described
}

/**
 * Copies inside the account, with the time, the type and the metadata. Fails with PRECONDITION_FAILED or NOT_FOUND where the
 * source has changed.
 */
export async function copyBlob(container: Container, source: CopySource, destination: Destination): Promise<Entry> {
  const { blob } = source
  // Azure keeps the metadata of the source unless it gets others.
  const added = keptTime(blob) ? {} : { ...metadataHeaders(blob.metadata), ...timeHeader(blob.lastModified) }
  const { etag, lastModified } = await copyTo(container, source, destination, added)
  const kept = { ...blob, etag, lastModified, metadata: { ...blob.metadata, mtime: timeOf(blob) } }
  return fileEntry(destination.name, container.fileId(destination.key), kept)
}

function timeOf(blob: Described): string {
  return (keptTime(blob) ?? blob.lastModified)?.toISOString() ?? ''
}

/** Makes a blob visible under another name. @param added headers of the request */
export async function copyTo(
  container: Container,
  { key, blob: { etag: version } }: { key: string; blob: Pick<Described, 'etag'> },
  destination: Destination,
  added: Record<string, string> = {},
): Promise<Pick<Described, 'etag' | 'lastModified'>> {
  const headers = {
    ...added,
    'x-ms-copy-source': container.urlOf(key).href,
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
      const own = wasRepeated(error) ? await copyFrom(container, key, destination.key) : undefined
      if (!own) throw error
      return own
    }
  })
  const ended = await ending(container, destination.key, response)
  return { etag: etagOf(ended.headers.etag), lastModified: dateOf(ended.headers['last-modified']) }
}

/** Returns the blob if it is a copy of `source`. */
async function copyFrom(container: Container, source: string, key: string): Promise<BlobResponse | undefined> {
  const found = await container.call({ method: 'HEAD', key }).catch(() => undefined)
  const from = URL.parse(found?.headers['x-ms-copy-source']?.toString() ?? '')
  return from?.pathname === container.urlOf(source).pathname ? found : undefined
}

/** Waits for a copy that Azure makes after its response. It does so only when the account is busy. */
async function ending(container: Container, key: string, response: BlobResponse): Promise<BlobResponse> {
  const id = response.headers['x-ms-copy-id']
  let latest = response
  for (
    let wait = firstLook;
    latest.headers['x-ms-copy-status'] === 'pending';
    wait = Math.min(2 * wait, longestPause)
  ) {
    await sleep(wait)
    latest = await container.call({ method: 'HEAD', key })
    // Somebody else has replaced the file since.
    if (latest.headers['x-ms-copy-id'] !== id) return response
  }
  const status = latest.headers['x-ms-copy-status']
  if (status === undefined || status === 'success') return latest
  await container.remove(key)
  throw new StorageError('UNAVAILABLE', 'Azure did not finish the copy, and the file was removed: try again.')
}

/** Moves a file or a folder of a hierarchical namespace, in one step. */
export async function moveEntry(
  { container, keys, folders }: Tree,
  { from, to }: { from: StoragePath; to: StoragePath },
  { signal, overwrite }: Call & { overwrite: boolean },
): Promise<Entry> {
  signal.throwIfAborted()
  const [source, destination] = [keys.blob(from), keys.blob(to)]
  if (to.startsWith(`${from}/`)) throw new StorageError('INVALID_PATH', 'A folder cannot be moved into itself.')
  const [blob, existing] = await Promise.all([
    container.head(source, signal),
    container.head(destination, signal),
    folders.refuseFilesAbove(to, signal),
  ])
  if (!blob) throw notFound()
  if (existing && !overwrite) throw alreadyExists()
  if (existing?.isFolder && !blob.isFolder) throw notAFile()
  if (existing && !existing.isFolder && blob.isFolder) {
    throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path, not a folder.')
  }
  if (from !== to) {
    if (existing?.isFolder && (await folders.below(to, signal)).hasEntries) {
      throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    }
    const parent = parentOf(to)
    if (parent !== '') await folders.make(parent, { exclusive: false, signal })
    signal.throwIfAborted()
    await rename(container, source, destination, overwrite).catch(error => {
      throw hasCode(error, 'PRECONDITION_FAILED') && !overwrite ? alreadyExists(error) : error
    })
  }
  const moved = await container.head(destination)
  if (blob.isFolder) return folders.folder(to)
  return fileEntry(nameOf(to), container.fileId(destination), moved ?? blob)
}

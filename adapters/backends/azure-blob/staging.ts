/**
 * Files in parts are joined under a name of their own, which listings leave out, and then copied to their path.
 *
 * Azure keeps the parts of all uploads to one name together and drops the others when one upload ends, so two uploads would
 * lose their bytes, and parts that another program has left can block all new ones. A name of its own also lets this server
 * free the parts of a killed one, which Azure would keep for a week.
 */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { BodyPart } from '../../bases/objects/send.ts'
import { type Entry, StorageError } from '../../contract.ts'
import type { Container } from './container.ts'
import { type FileHeaders, fileEntry, headersOf, type Keys } from './entry.ts'
import { type Destination, md5Of, storedBlob } from './publish.ts'
import { copyTo } from './transfer.ts'
import { type Block, blockList, parseBlocks } from './xml.ts'

/** https://learn.microsoft.com/rest/api/storageservices/put-block#remarks */
export const maxBlockBytes = 4000 * 1024 * 1024

export interface Staged {
  /** A UUID. */
  id: string
  /** The name of the blob that has the parts. */
  key: string
}

export function newStaged(keys: Keys): Staged {
  const id = randomUUID()
  return { id, key: keys.staging(id) }
}

/** Makes an upload known to Azure: an empty blob, which gets the parts. */
export async function beginStaged(container: Container, { key }: Staged): Promise<void> {
  await container.call({ method: 'PUT', key, headers: { 'x-ms-blob-type': 'BlockBlob' } })
}

/** Returns true for an upload that was begun, and neither completed nor freed. */
export async function isBegun(container: Container, { key }: Staged, signal: AbortSignal): Promise<boolean> {
  return (await container.head(key, signal)) !== undefined
}

/** Sends one part. Azure compares a buffered one with its MD5. */
export async function putBlock(
  container: Container,
  { key }: Staged,
  /** In base64. */
  id: string,
  { content, length }: Pick<BodyPart, 'content' | 'length'>,
  signal: AbortSignal,
): Promise<void> {
  const query = { comp: 'block', blockid: id }
  const check = Buffer.isBuffer(content) ? { 'content-md5': await md5Of(content) } : {}
  const headers = { ...check, 'content-length': String(length) }
  // Only a streamed part is slow: the client decides how fast it comes.
  const isSlow = content instanceof Readable
  await container.call({ method: 'PUT', key, query, headers, body: content, isSlow }, signal)
}

/** Returns the parts of an upload with their sizes. @throws NOT_FOUND for a missing upload */
export async function blocksOf(container: Container, { key }: Staged, signal: AbortSignal): Promise<Block[]> {
  const query = { comp: 'blocklist', blocklisttype: 'all' }
  return parseBlocks((await container.call({ method: 'GET', key, query }, signal)).text)
}

export interface StagedFile {
  file: FileHeaders
  /** The ids of the parts in base64, in their order. */
  ids: readonly string[]
  /** Bytes. */
  size: number
  /** The MD5 of the whole file in base64; null where parts came with several requests. */
  md5: string | null
}

/**
 * Joins the parts and makes the file visible. Nothing interrupts this.
 * @param onError called where the parts could not be freed afterwards
 * @throws ALREADY_EXISTS
 */
export async function publishStaged(
  container: Container,
  { key }: Staged,
  destination: Destination,
  { file, ids, size, md5 }: StagedFile,
  onError: (error: unknown) => void,
): Promise<Entry> {
  const headers = {
    ...headersOf(file),
    'content-type': 'application/xml',
    ...(md5 && { 'x-ms-blob-content-md5': md5 }),
  }
  const body = Buffer.from(blockList(ids))
  const joined = await container.call({ method: 'PUT', key, query: { comp: 'blocklist' }, headers, body, isSlow: true })
  const whole = storedBlob(joined, file, size, md5)
  const copied = await copyTo(container, { key, blob: whole }, destination)
  // The file is stored, so a failure to free the parts does not fail the call.
  await removeJoined(container, key, joined.headers['x-ms-version-id']?.toString()).catch(onError)
  return fileEntry(destination.name, container.fileId(destination.key), { ...whole, ...copied })
}

/** @param version the only version of the blob, where the account keeps versions */
async function removeJoined(container: Container, key: string, version: string | undefined): Promise<void> {
  await container.remove(key)
  if (version) await container.call({ method: 'DELETE', key, query: { versionid: version } })
}

/** Frees the parts of an upload. Resolves for an unknown one. */
export async function freeStaged(container: Container, staged: Staged): Promise<void> {
  // Azure drops the parts once a blob with their name is written. Without such a blob, there is nothing to delete.
  await beginStaged(container, staged)
  await container.remove(staged.key)
}

/** Returns the ids of the parts 1 to `count`. */
export function blockIds(count: number): string[] {
  return Array.from({ length: count }, (_, i) => blockId(i + 1))
}

/** Returns the id of a part of an upload whose parts come in order. All ids of a blob need the same length. */
export function blockId(number: number): string {
  return Buffer.from(String(number).padStart(8, '0')).toString('base64')
}

/** Returns the number of bytes that the parts 1 to `count` have. @throws UNAVAILABLE where one is missing */
export function sizeOf(blocks: readonly Block[], count: number): number {
  const sizes = new Map(blocks.map(({ id, size }) => [id, size]))
  let total = 0
  for (const id of blockIds(count)) {
    const size = sizes.get(id)
    if (size === undefined) {
      throw new StorageError('UNAVAILABLE', 'Azure has lost a part of the upload: send the file again.')
    }
    total += size
  }
  return total
}

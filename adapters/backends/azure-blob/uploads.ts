/**
 * Files in parts are joined under a name of their own, which listings leave out, and then copied to their path.
 *
 * Azure keeps the parts of all uploads to one name together and drops the others when one upload ends, so two uploads would
 * lose their bytes, and parts that another program has left can block all new ones. A name of its own also lets this server
 * free the parts of a killed one, which Azure would keep for a week.
 */
import { createHash, type Hash, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { alreadyExists, requireBytes, uploadNotFound } from '../../bases/errors.ts'
import type { Destination, NewFile, UploadDriver, WriteOptions } from '../../bases/objects/driver.ts'
import { type BodyPart, BodyReader, maxParts, planFor, sendParts } from '../../bases/objects/parts.ts'
import type { FileStore } from '../../bases/objects/write.ts'
import { parseJson } from '../../bases/upload-state.ts'
import { type Entry, StorageError } from '../../contract.ts'
import type { Container } from './client.ts'
import { fileEntry, headersOf, isUploadId, type Keys } from './entry.ts'
import { copyTo, md5Of, putWhole, storedBlob } from './write.ts'
import { type Block, blockList, parseBlocks } from './xml.ts'

/** https://learn.microsoft.com/rest/api/storageservices/put-block#remarks */
const maxBlockBytes = 4000 * 1024 * 1024

/** Bytes: 38 TiB, the number of parts that one upload uses times their largest length. */
export const maxFileSize = maxParts * maxBlockBytes

interface Staged {
  /** A UUID. */
  id: string
  /** The name of the blob that has the parts. */
  key: string
}

function newStaged(keys: Keys): Staged {
  const id = randomUUID()
  return { id, key: keys.staging(id) }
}

/** Makes an upload known to Azure: an empty blob, which gets the parts. */
async function beginStaged(container: Container, { key }: Staged): Promise<void> {
  await container.call({ method: 'PUT', key, headers: { 'x-ms-blob-type': 'BlockBlob' } })
}

/** @throws NOT_FOUND for an upload that was not begun, or was completed or freed: it would begin again with its next part */
async function requireBegun(container: Container, { key }: Staged, signal: AbortSignal): Promise<void> {
  if (!(await container.head(key, signal))) throw uploadNotFound()
}

/** Sends one part. Azure compares a buffered one with its MD5. */
async function putBlock(
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
async function blocksOf(container: Container, { key }: Staged, signal: AbortSignal): Promise<Block[]> {
  const query = { comp: 'blocklist', blocklisttype: 'all' }
  return parseBlocks((await container.call({ method: 'GET', key, query }, signal)).text)
}

interface StagedFile {
  file: NewFile
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
async function publishStaged(
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
  const wholeFile = storedBlob(joined, file, size, md5)
  const copied = await copyTo(container, { key, blob: wholeFile }, destination)
  // The file is stored, so a failure to free the parts does not fail the call.
  await removeJoined(container, key, joined.headers['x-ms-version-id']?.toString()).catch(onError)
  return fileEntry(destination.name, container.fileId(destination.key), { ...wholeFile, ...copied })
}

/** @param version the only version of the blob, where the account keeps versions */
async function removeJoined(container: Container, key: string, version: string | undefined): Promise<void> {
  await container.remove(key)
  if (version) await container.call({ method: 'DELETE', key, query: { versionid: version } })
}

/** Frees the parts of an upload. Resolves for an unknown one. */
async function freeStaged(container: Container, staged: Staged): Promise<void> {
  // Azure drops the parts once a blob with their name is written. Without such a blob, there is nothing to delete.
  await beginStaged(container, staged)
  await container.remove(staged.key)
}

/** Returns the ids of the parts 1 to `count`. */
function blockIds(count: number): string[] {
  return Array.from({ length: count }, (_, i) => blockId(i + 1))
}

/** Returns the id of a part of an upload whose parts come in order. All ids of a blob need the same length. */
function blockId(number: number): string {
  return Buffer.from(String(number).padStart(8, '0')).toString('base64')
}

/** Returns the number of bytes that the parts 1 to `count` have. @throws UNAVAILABLE where one is missing */
function sizeOf(blocks: readonly Block[], count: number): number {
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

/** Stores a body in one request, or in parts that the host records. */
export function fileStore(
  container: Container,
  keys: Keys,
  destination: Destination,
  body: Readable,
  { unfinished, ...file }: WriteOptions,
  onUnfreed: (error: unknown) => void,
): FileStore {
  const { limits } = container
  const hash = createHash('md5')
  return {
    limits,
    content: hashed(body, hash),
    putWhole: bytes => putWhole(container, destination, file, bytes, hash.digest('base64')),
    async begin() {
      // Fail before reading a long body that cannot be stored.
      if (!destination.overwrite && (await container.head(destination.key, destination.signal))) throw alreadyExists()
      const staged = newStaged(keys)
      await unfinished?.began(formatRecord(staged))
      let isFreed = true
      return {
        async store(reader, options) {
          const sent = await sendParts(body, reader, options, limits, (part, late) =>
            putBlock(container, staged, blockId(part.number), part, late),
          )
          const wholeFile = { file, ids: blockIds(sent.count), size: sent.bytes, md5: hash.digest('base64') }
          return await publishStaged(container, staged, destination, wholeFile, error => {
            isFreed = false
            onUnfreed(error)
          })
        },
        async ended() {
          // Otherwise the host frees the parts later from its record.
          if (isFreed) await unfinished?.ended()
        },
        async free() {
          await freeStaged(container, staged)
            .then(() => unfinished?.ended())
            .catch(() => {})
        },
      }
    },
  }
}

async function* hashed(body: Readable, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    hash.update(bytes)
    yield bytes
  }
}

/** Bytes. Azure takes shorter parts, too, but 10,000 of them would be a small file. */
const minPartSize = 64 * 1024

/**
 * Uploads that continue in later calls. The parts of `putPart` consist of blocks. The id of a block has the number of its part, its
 * index, the attempt to send the part, and its MD5. The tag of a part is the MD5 of the MD5s of its blocks, and their number. So
 * `joinParts` finds the blocks of the attempt whose bytes the caller names.
 * @param onUnfreed called where parts could not be freed after the file was stored
 */
export function uploadDriver(container: Container, keys: Keys, onUnfreed: (error: unknown) => void): UploadDriver {
  const { limits } = container
  /** @throws NOT_FOUND */
  const stagedOf = ({ id }: { id: string }): Staged => {
    if (!isUploadId(id)) throw uploadNotFound()
    return { id, key: keys.staging(id) }
  }
  return {
    minPartSize,

    async begin(_path, _key, { unfinished }) {
      const staged = newStaged(keys)
      await unfinished?.began(formatRecord(staged))
      await beginStaged(container, staged)
      await unfinished?.ended()
      return staged.id
    },

    async send(upload, body, reader, options) {
      const staged = stagedOf(upload)
      await requireBegun(container, staged, options.signal)
      return await sendParts(body, reader, options, limits, (part, late) =>
        putBlock(container, staged, blockId(part.number), part, late),
      )
    },

    async join(upload, { count, size }, destination, file) {
      const staged = stagedOf(upload)
      const stored = sizeOf(await blocksOf(container, staged, destination.signal), count)
      destination.signal.throwIfAborted()
      if (stored !== size) {
        throw new StorageError('UNAVAILABLE', `Azure has ${stored} of ${size} bytes: send the file again.`)
      }
      const wholeFile = { file, ids: blockIds(count), size, md5: null }
      return await publishStaged(container, staged, destination, wholeFile, onUnfreed)
    },

    free: upload => freeStaged(container, stagedOf(upload)).catch(onUnfreed),

    async abort(text) {
      const { id } = parseJson(text)
      if (isUploadId(id)) await freeStaged(container, { id, key: keys.staging(id) })
    },

    async putPart(upload, body, { signal, number, size }) {
      const staged = stagedOf(upload)
      await requireBegun(container, staged, signal)
      const attempt = randomBytes(4).toString('hex')
      const digests: string[] = []
      // Each block is buffered, because its id has its MD5.
      const options = { partPlan: planFor(limits.partBytes, limits), size: undefined, signal }
      const sent = await sendParts(body, new BodyReader(body), options, limits, async (block, late) => {
        const digest = Buffer.from(await md5Of(block.content as Buffer), 'base64').toString('hex')
        digests[block.number - 1] = digest
        const id = formatId({ part: number, index: block.number, attempt, digest })
        await putBlock(container, staged, id, block, late)
      })
      requireBytes(sent.bytes, size)
      return tagOf(digests)
    },

    async joinParts(upload, parts, size, destination, file) {
      const staged = stagedOf(upload)
      const { signal } = destination
      await requireBegun(container, staged, signal)
      const attempts = attemptsIn(await blocksOf(container, staged, signal))
      const blocks = parts.flatMap(({ number, tag }) => blocksFor(attempts.get(number) ?? [], tag))
      const stored = blocks.reduce((total, block) => total + block.size, 0)
      if (stored !== size) {
        throw new StorageError('PRECONDITION_FAILED', `The parts have ${stored} bytes, not ${size}: send them again.`)
      }
      signal.throwIfAborted()
      if (size === 0) {
        const empty = Buffer.alloc(0)
        const entry = await putWhole(container, destination, file, empty, await md5Of(empty))
        await freeStaged(container, staged).catch(onUnfreed)
        return entry
      }
      const wholeFile = { file, ids: blocks.map(({ id }) => id), size, md5: null }
      return await publishStaged(container, staged, destination, wholeFile, onUnfreed)
    },
  }
}

interface BlockName {
  /** The number of the part. */
  part: number
  /** The number of the block in the part. */
  index: number
  /** Eight random digits. */
  attempt: string
  /** The MD5 in hex. */
  digest: string
}

/** All ids of a blob need the same length. */
function formatId({ part, index, attempt, digest }: BlockName): string {
  const text = [String(part).padStart(5, '0'), String(index).padStart(5, '0'), attempt, digest].join('-')
  return Buffer.from(text).toString('base64')
}

function parseId(id: string): BlockName | undefined {
  const text = Buffer.from(id, 'base64').toString('latin1')
  const [, part, index, attempt = '', digest = ''] = /^(\d{5})-(\d{5})-([0-9a-f]{8})-([0-9a-f]{32})$/.exec(text) ?? []
  return part === undefined ? undefined : { part: Number(part), index: Number(index), attempt, digest }
}

type Attempt = { name: BlockName; block: Block }[]

/** Returns the attempts to send each part, by its number, with their blocks in order. */
function attemptsIn(blocks: readonly Block[]): Map<number, Attempt[]> {
  const named = blocks.flatMap(block => {
    const name = parseId(block.id)
    return name ? [{ name, block }] : []
  })
  const attempts = Map.groupBy(named, ({ name }) => `${name.part} ${name.attempt}`)
  const ordered = [...attempts.values()].map(found => found.toSorted((a, b) => a.name.index - b.name.index))
  return Map.groupBy(ordered, ([first]) => first?.name.part ?? 0)
}

/** @throws PRECONDITION_FAILED where no attempt has these bytes */
function blocksFor(attempts: readonly Attempt[], tag: string): Block[] {
  if (tag === tagOf([])) return []
  const found = attempts.find(attempt => tagOf(attempt.map(({ name }) => name.digest)) === tag)
  if (found) return found.map(({ block }) => block)
  throw new StorageError('PRECONDITION_FAILED', 'A part is missing or has other bytes: send it again.')
}

function tagOf(digests: readonly string[]): string {
  return `${createHash('md5').update(digests.join('')).digest('hex')}-${digests.length}`
}

/** Returns the host's record of an unfinished write, with which `abort` can free it after a crash. */
function formatRecord({ id }: Staged): string {
  return JSON.stringify({ id })
}

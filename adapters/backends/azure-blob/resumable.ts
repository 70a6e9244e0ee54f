import { createHash, randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { BodyReader, maxParts, planFor } from '../../bases/objects/parts.ts'
import { sendParts } from '../../bases/objects/send.ts'
import {
  appendParts,
  beginState,
  fileOf,
  noUpload,
  parseJson,
  parseState,
  requireBytes,
  type State,
  whileReading,
} from '../../bases/objects/uploads.ts'
import { type Call, type Entry, nameOf, type PartWrites, type ResumableWrites, StorageError } from '../../contract.ts'
import type { Container } from './container.ts'
import { isUploadId, type Keys } from './entry.ts'
import type { Folders } from './folders.ts'
import { md5Of, putWhole } from './publish.ts'
import {
  beginStaged,
  blockId,
  blockIds,
  blocksOf,
  freeStaged,
  isBegun,
  newStaged,
  publishStaged,
  putBlock,
  type Staged,
  sizeOf,
} from './staging.ts'
import type { Block } from './xml.ts'

/** @param onError called where parts could not be freed after the file was stored */
export function resumableWrites(
  container: Container,
  keys: Keys,
  folders: Folders,
  onError: (error: unknown) => void,
): ResumableWrites {
  const { limits } = container
  const append = (text: string, body: Readable, options: Call & { offset: number; size: number }) =>
    appendParts(text, body, options, limits, async (state, reader, sendOptions) => {
      const staged = stagedOf(keys, state.id)
      // A missing upload would begin again with its next part.
      if (!(await isBegun(container, staged, options.signal))) throw noUpload()
      return await sendParts(body, reader, sendOptions, limits, (part, late) =>
        putBlock(container, staged, blockId(part.number), part, late),
      )
    })

  return {
    partSize: limits.partBytes,
    maxAppends: maxParts,
    parts: partWrites(container, keys, folders, onError),

    async begin(path, { signal, size, mimeType, modifiedAt, unfinished }): Promise<string> {
      keys.blob(path)
      await folders.refuseFolder(path, true, signal)
      signal.throwIfAborted()
      const staged = newStaged(keys)
      await unfinished?.began(formatRecord(staged))
      await beginStaged(container, staged)
      await unfinished?.ended()
      return beginState({ path, id: staged.id, size, mimeType, modifiedAt }, limits)
    },

    async append(text, body, options): Promise<string> {
      return JSON.stringify(await append(text, body, options))
    },

    async complete(text, body, { overwrite, ...options }): Promise<Entry> {
      const { signal } = options
      const state = await append(text, body, options)
      const { path, offset: size, next } = state
      const staged = stagedOf(keys, state.id)
      const destination = { key: keys.blob(path), name: nameOf(path), overwrite }
      const file = fileOf(state)
      await folders.refuseFolder(path, overwrite, signal)
      if (size === 0) {
        const empty = Buffer.alloc(0)
        const stored = await putWhole(container, destination, { body: empty, md5: await md5Of(empty), file })
        // The file is stored, so a failure to free the upload does not fail the call.
        await freeStaged(container, staged).catch(onError)
        return stored
      }
      const count = next - 1
      const stored = sizeOf(await blocksOf(container, staged, signal), count)
      signal.throwIfAborted()
      if (stored !== size) {
        throw new StorageError('UNAVAILABLE', `Azure has ${stored} of ${size} bytes: send the file again.`)
      }
      const entry = await publishStaged(
        container,
        staged,
        destination,
        { file, ids: blockIds(count), size, md5: null },
        onError,
      )
      folders.noteFile(path)
      return entry
    },

    async abort(text, { signal }: Call): Promise<void> {
      signal.throwIfAborted()
      const staged = parseRecord(text, keys)
      if (staged) await freeStaged(container, staged)
    },
  }
}

/** Bytes. Azure takes shorter parts, too, but 10,000 of them would be a small file. */
const minSize = 64 * 1024

/**
 * A part consists of blocks. The id of a block has the number of its part, its index, the attempt to send the part, and its MD5.
 * The tag of a part is the MD5 of the MD5s of its blocks, and their number. So `complete` finds the blocks of the attempt whose
 * bytes the caller names.
 */
function partWrites(container: Container, keys: Keys, folders: Folders, onError: (error: unknown) => void): PartWrites {
  const { limits } = container

  return {
    minSize,

    async put(text, body, { signal, number, size }) {
      return await whileReading(body, signal, async () => {
        const staged = stagedOf(keys, parseState(text).id)
        if (!(await isBegun(container, staged, signal))) throw noUpload()
        const attempt = randomBytes(4).toString('hex')
        const digests: string[] = []
        // Each block is buffered, because its id has its MD5.
        const options = { partPlan: planFor(limits.partBytes, limits), size: undefined, signal }
        const sent = await sendParts(body, new BodyReader(body), options, limits, async (block, late) => {
          const digest = Buffer.from(await md5Of(block.content as Buffer), 'base64').toString('hex')
          digests[block.number - 1] = digest
          await putBlock(
            container,
            staged,
            formatId({ part: number, index: block.number, attempt, digest }),
            block,
            late,
          )
        })
        requireBytes(sent.bytes, size)
        return tagOf(digests)
      })
    },

    async complete(text, parts, { signal, size, overwrite }) {
      signal.throwIfAborted()
      const state = parseState(text)
      const staged = stagedOf(keys, state.id)
      const destination = { key: keys.blob(state.path), name: nameOf(state.path), overwrite }
      if (!(await isBegun(container, staged, signal))) throw noUpload()
      await folders.refuseFolder(state.path, overwrite, signal)
      const attempts = attemptsIn(await blocksOf(container, staged, signal))
      const blocks = parts.flatMap(({ number, tag }) => blocksFor(attempts.get(number) ?? [], tag))
      const stored = blocks.reduce((total, block) => total + block.size, 0)
      if (stored !== size) {
        throw new StorageError('PRECONDITION_FAILED', `The parts have ${stored} bytes, not ${size}: send them again.`)
      }
      signal.throwIfAborted()
      const file = fileOf(state)
      if (size === 0) {
        const empty = { body: Buffer.alloc(0), md5: createHash('md5').digest('base64'), file }
        const entry = await putWhole(container, destination, empty)
        await freeStaged(container, staged).catch(onError)
        return entry
      }
      const ids = blocks.map(({ id }) => id)
      const entry = await publishStaged(container, staged, destination, { file, ids, size, md5: null }, onError)
      folders.noteFile(state.path)
      return entry
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

/** @throws NOT_FOUND */
function stagedOf(keys: Keys, id: string): Staged {
  if (!isUploadId(id)) throw noUpload()
  return { id, key: keys.staging(id) }
}

/** Returns the host's record of an unfinished write, with which `abort` can free it after a crash. */
export function formatRecord({ id }: Staged): string {
  return JSON.stringify({ id } satisfies Partial<State>)
}

/** Returns the parts that a state or a record names. */
function parseRecord(text: string, keys: Keys): Staged | undefined {
  const { id } = parseJson(text)
  return isUploadId(id) ? { id, key: keys.staging(id) } : undefined
}

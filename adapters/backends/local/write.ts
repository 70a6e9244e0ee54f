import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import { addAbortSignal, Readable } from 'node:stream'
import { alreadyExists, notAFile, notFound } from '../../bases/errors.ts'
import type { Entry } from '../../contract.ts'
import { hasErrno, toStorageError } from './errors.ts'
import { inside, self, toEntry } from './names.ts'
import {
  identityOf,
  isAt,
  openDeepestFrom,
  pathOf,
  type Root,
  release,
  syncDirectory,
  withCreatedDirectory,
  withDirectory,
} from './open.ts'
import { FileBody } from './read.ts'
import { type Keeper, linkless, linkOrClaim, replaceKept, statsOf } from './replace.ts'
import { type Staged, withStaged } from './staging.ts'

export interface Destination {
  root: Root
  parents: readonly string[]
  name: string
  overwrite: boolean
  /** Called before a file is replaced: see `keeperOf`. */
  keep?: Keeper | undefined
  /** The modification time of the file. Default: now. */
  modifiedAt?: Date | undefined
  signal: AbortSignal
}

/** Stores the bytes that `fill` writes as a file. It is staged first and becomes visible in one step. */
export async function store(destination: Destination, fill: (handle: FileHandle) => Promise<unknown>): Promise<Entry> {
  const { root, parents, modifiedAt, signal } = destination
  return await withDirectory(root, [], signal, async rootDirectory => {
    const { directory, depth } = await openDeepestFrom(rootDirectory, parents, signal)
    const hasParent = depth === parents.length
    try {
      // Fail before a client sends a gigabyte in vain. `publish` decides in the end.
      if (hasParent) await refuseExisting(directory, destination)
      const { dev } = await identityOf(directory)
      // Stage on the disk of the destination, as neither link(2) nor rename(2) works between disks.
      const options = dev === root.dev ? { parent: rootDirectory, keep: true } : { parent: directory, keep: false }
      return await withStaged({ ...options, modifiedAt }, fill, staged =>
        publishAt(staged, destination, hasParent ? directory : undefined),
      )
    } finally {
      release(directory)
    }
  })
}

/** @param parent the open parent directory, if known; it is used only if it still has this path */
export async function publishAt(
  staged: Staged,
  destination: Destination,
  parent: FileHandle | undefined,
): Promise<Entry> {
  const { root, parents, signal } = destination
  signal.throwIfAborted()
  if (parent && (await isAt(parent, pathOf(root, parents)))) {
    try {
      return await publishIn(parent, staged, destination)
    } catch (error) {
      // The directory was deleted at this moment.
      if (!hasErrno(error, 'ENOENT')) throw error
    }
  }
  return await withCreatedDirectory(root, parents, signal, made => publishIn(made, staged, destination))
}

async function publishIn(parent: FileHandle, staged: Staged, destination: Destination): Promise<Entry> {
  destination.signal.throwIfAborted()
  try {
    await publish(staged, parent, destination)
  } catch (error) {
    if (!hasErrno(error, 'EXDEV')) throw error
    return await publishCopy(staged, parent, destination)
  }
  await syncDirectory(parent)
  return await entryOf(staged, destination.name)
}

async function refuseExisting(parent: FileHandle, { name, overwrite }: Destination): Promise<void> {
  const stats = await statsOf(inside(parent, name))
  if (stats && !overwrite) throw alreadyExists()
  if (stats?.isDirectory()) throw notAFile()
}

async function publish(staged: Staged, parent: FileHandle, { name, overwrite, keep }: Destination): Promise<void> {
  const from = inside(staged.folder, staged.name)
  const to = inside(parent, name)
  if (overwrite && !keep) return await rename(from, to)
  // The file is stored. A name that remains in the staging folder is swept later.
  const forget = () => unlink(from).catch(() => {})
  if (!overwrite || !keep) {
    if ((await linkOrClaim(from, to)) === 'linked') await forget()
    return
  }
  await replaceKept(from, { parent, name }, keep, async () => {
    try {
      await link(from, to)
      await forget()
    } catch (error) {
      if (!hasErrno(error, ...linkless)) throw error
      // Claiming the name first would leave an empty file if the server were killed.
      if (await statsOf(to)) throw alreadyExists(error)
      await rename(from, to)
    }
  })
}

/**
 * Ends the work on a staged file that has its name already, because the server was killed just then. Returns null for any other one. Its
 * bytes must not change any more: the file may even have become an earlier version.
 */
export async function endPublished(staged: Staged, name: string): Promise<Entry | null> {
  if ((await staged.handle.stat()).nlink < 2) return null
  await unlink(inside(staged.folder, staged.name))
  return await entryOf(staged, name)
}

/** Copies the bytes to the destination where link(2) fails with EXDEV on one disk: bind mounts, project quotas. */
async function publishCopy(staged: Staged, parent: FileHandle, destination: Destination): Promise<Entry> {
  const { name, modifiedAt, signal } = destination
  const source = await open(self(staged.handle), 'r')
  const { size } = await source.stat()
  const copied = await withStaged(
    { parent, keep: false, modifiedAt },
    handle => writeBody(handle, new FileBody(source, { start: 0, end: size }, signal), signal),
    async again => {
      signal.throwIfAborted()
      await publish(again, parent, destination)
      await syncDirectory(parent)
      return await entryOf(again, name)
    },
  )
  await unlink(inside(staged.folder, staged.name)).catch(() => {})
  return copied
}

async function entryOf(staged: Staged, name: string): Promise<Entry> {
  const entry = toEntry(name, await staged.handle.stat({ bigint: true }))
  if (!entry) throw notFound()
  return entry
}

/** The bytes buffered for one writev(2), which is 1.3 times as fast as one write for each chunk of a socket. */
const blockBytes = 1024 * 1024

/** The bytes that all writes of this process buffer together, as slow writes keep their buffers for long. */
const sharedBytes = 16 * 1024 * 1024
const minBlockBytes = 64 * 1024
let writers = 0

/** IOV_MAX, the maximum number of chunks in one writev(2). It also bounds the memory of a body of tiny chunks. */
const maxChunks = 1024

/**
 * Returns a body that has at most `size` bytes as these bytes, and a longer one as a new body from its beginning. Destroys
 * `body` when it fails.
 */
export async function takeWhole(body: Readable, size: number, signal: AbortSignal): Promise<Uint8Array | Readable> {
  const bytes = new Uint8Array(size)
  let length = 0
  try {
    const chunks: AsyncIterator<Uint8Array | string> = addAbortSignal(signal, body)[Symbol.asyncIterator]()
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      const chunk = typeof next.value === 'string' ? Buffer.from(next.value) : next.value
      if (length + chunk.byteLength > size) return Readable.from(continued([bytes.subarray(0, length), chunk], chunks))
      bytes.set(chunk, length)
      length += chunk.byteLength
    }
  } catch (error) {
    body.destroy()
    throw signal.aborted ? signal.reason : error
  }
  signal.throwIfAborted()
  return length === size ? bytes : bytes.slice(0, length)
}

async function* continued(beginning: Uint8Array[], rest: AsyncIterator<Uint8Array | string>) {
  yield* beginning
  yield* { [Symbol.asyncIterator]: () => rest }
}

/**
 * Writes a body and returns the position after the last byte. It buffers at most two blocks, which are smaller when many
 * writes run. Destroys `body` when it fails.
 */
export async function writeBody(handle: FileHandle, body: Readable, signal: AbortSignal, start = 0): Promise<number> {
  let position = start
  let chunks: Uint8Array[] = []
  let buffered = 0
  let writing: Promise<void> = Promise.resolve()
  const flush = async () => {
    await writing
    writing = writeAll(handle, chunks, position)
    // Fail at once, since the next chunk may arrive much later.
    writing.catch(error => body.destroy(error))
    position += buffered
    chunks = []
    buffered = 0
  }
  writers += 1
  try {
    for await (const chunk of addAbortSignal(signal, body)) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      chunks.push(bytes)
      buffered += bytes.byteLength
      if (buffered >= blockLimit() || chunks.length >= maxChunks) await flush()
    }
    await flush()
    await writing
  } catch (error) {
    body.destroy()
    throw signal.aborted ? signal.reason : error
  } finally {
    writers -= 1
    // The caller closes the handle next.
    await writing.catch(() => {})
  }
  signal.throwIfAborted()
  return position
}

function blockLimit(): number {
  return Math.max(minBlockBytes, Math.min(blockBytes, sharedBytes / writers))
}

/** @throws StorageError for errors of the disk */
export async function writeAll(handle: FileHandle, chunks: readonly Uint8Array[], start: number): Promise<void> {
  let position = start
  let rest = chunks.filter(chunk => chunk.byteLength > 0)
  try {
    while (rest.length > 0) {
      const { bytesWritten } = await handle.writev(rest, position)
      position += bytesWritten
      rest = withoutFirst(rest, bytesWritten)
    }
  } catch (error) {
    // Convert here, as the caller cannot distinguish an error of the disk from one of the body.
    throw toStorageError(error)
  }
}

/** Returns the chunks after the first `bytes`, as a signal or a nearly full disk may cut a write short. */
function withoutFirst(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  const rest: Uint8Array[] = []
  let skip = bytes
  for (const chunk of chunks) {
    if (skip < chunk.byteLength) rest.push(skip > 0 ? chunk.subarray(skip) : chunk)
    skip = Math.max(0, skip - chunk.byteLength)
  }
  return rest
}

/**
 * Parts of an upload, which arrive in any order and at once.
 *
 * The first part decides the length of a slot. A part that is no longer goes straight to its slot in the staged file, part 3 to the
 * third one, so that parts of equal length are already one file when the upload completes. A part that is longer, or that is sent
 * again, gets a file of its own in the folder `upload-<id>.parts`. That folder also has a file for each slot that was claimed, so
 * that nobody writes to a slot twice.
 */

import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, lstat, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { requireBytes } from '../../bases/errors.ts'
import { type Call, type PartWrites, StorageError } from '../../contract.ts'
import { hasErrno, withStorageErrors } from './errors.ts'
import { inside, self, splitPath } from './names.ts'
import { openChild, type Root, syncDirectory } from './open.ts'
import { keeperOf } from './preserve.ts'
import { FileBody } from './read.ts'
import {
  endFile,
  failMissing,
  parseState,
  partsFolder,
  reading,
  removeUpload,
  type UploadState,
  uploadId,
  withUploadFolder,
} from './resumable.ts'
import type { Staged } from './staging.ts'
import { endPublished, publishAt, writeBody } from './write.ts'

export function partWrites(root: Root): PartWrites {
  return {
    minSize: 1,

    put: (text, body, options) =>
      reading(body, async () => {
        const state = parseState(text)
        return await withUploadFolder(root, state, options.signal, staging => putPart(staging, state, body, options))
      }),

    complete: (text, parts, options) =>
      withStorageErrors(async () => {
        const state = parseState(text)
        const { signal, overwrite, size } = options
        const listed = parts.map(part => parseTag(part, state)).sort((a, b) => a.number - b.number)
        if (listed.reduce((sum, part) => sum + part.size, 0) !== size) throw partMissing()
        return await withUploadFolder(root, state, signal, async (staging, parent) => {
          const destination = { root, ...splitPath(state.path), overwrite, keep: keeperOf(root, options), signal }
          const entry = await withAssembled(staging, state, listed, signal, async assembled => {
            const published = await endPublished(assembled, destination.name)
            if (published) return published
            await endFile(assembled.handle, size, state)
            return await publishAt(assembled, destination, undefined)
          })
          // The file is stored, and a later call can free the rest.
          await removeUpload(staging, parent, state).catch(() => {})
          return entry
        })
      }),
  }
}

interface Part {
  number: number
  /** Bytes. */
  size: number
  /** The length of the slots in bytes; null for a part with its own file, whose name is `file`. */
  slot: number | null
  file: string
}

const tagPattern = /^(?:slot (\d+)|file) (\d+) (\d+) ([0-9a-f-]{36})$/

/** A tag has the id of the upload for a part in a slot, and the name of the file for another one. */
function tagOf({ number, size, slot }: Omit<Part, 'file'>, id: string): string {
  return `${slot === null ? 'file' : `slot ${slot}`} ${number} ${size} ${id}`
}

/** @throws PRECONDITION_FAILED */
function parseTag({ number, tag }: { number: number; tag: string }, state: UploadState): Part {
  const [, slot, numberText, size, id = ''] = tagPattern.exec(tag) ?? []
  const isOther = slot !== undefined && id !== uploadId(state)
  if (Number(numberText) !== number || isOther) throw partMissing()
  return { number, size: Number(size), slot: slot === undefined ? null : Number(slot), file: id }
}

function partMissing(cause?: unknown): StorageError {
  return new StorageError('PRECONDITION_FAILED', 'A part is missing or was sent again: list the latest ones.', {
    cause,
  })
}

/** The end of the last slot in bytes, which is below the 16 TiB that a file of ext4 can have. */
const maxEnd = 2 ** 43

/** The name of the file that contains the length of a slot. The first part creates it. */
const slotFile = 'slot'

/** Stores a part and returns its tag. @throws NOT_FOUND where the upload has ended */
async function putPart(
  staging: FileHandle,
  state: UploadState,
  body: Readable,
  { signal, number, size }: Call & { number: number; size: number },
): Promise<string> {
  const folder = await openFolder(staging, state)
  try {
    const slot = await slotLength(folder, size)
    const hasSlot = slot !== null && size <= slot && number * slot <= maxEnd && (await claim(folder, number))
    const id = hasSlot ? uploadId(state) : randomUUID()
    if (hasSlot) await fillSlot(staging, folder, state, body, { signal, number, size, slot })
    else await fill(await open(inside(folder, id), 'wx', 0o600), body, { signal, size, start: 0 })
    await syncDirectory(folder)
    return tagOf({ number, size, slot: hasSlot ? slot : null }, id)
  } finally {
    await folder.close()
  }
}

/** Gives the claim up if that fails. @throws NOT_FOUND where the upload has ended */
async function fillSlot(
  staging: FileHandle,
  folder: FileHandle,
  state: UploadState,
  body: Readable,
  { signal, number, size, slot }: Call & { number: number; size: number; slot: number },
): Promise<void> {
  try {
    // `complete` takes the file away before it looks for claims, so it misses no writer.
    const handle = await open(inside(staging, state.name), constants.O_WRONLY | constants.O_NOFOLLOW)
    await fill(handle, body, { signal, size, start: (number - 1) * slot })
  } catch (error) {
    await unlink(inside(folder, String(number))).catch(() => {})
    return failMissing(error)
  }
}

/** Writes a part at `start`, so that it survives a power cut, and closes the file. */
async function fill(
  handle: FileHandle,
  body: Readable,
  { signal, size, start }: Call & { size: number; start: number },
): Promise<void> {
  try {
    requireBytes((await writeBody(handle, body, signal, start)) - start, size)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/** Opens the folder of the parts, and makes it for the first part. @throws NOT_FOUND where the upload has ended */
async function openFolder(staging: FileHandle, state: UploadState): Promise<FileHandle> {
  const name = partsFolder(state)
  try {
    await lstat(inside(staging, state.name))
    await mkdir(inside(staging, name), 0o700).catch(error => {
      if (!hasErrno(error, 'EEXIST')) throw error
    })
    return await openChild(staging, name)
  } catch (error) {
    return failMissing(error)
  }
}

/** Returns the length of a slot; null while another part is deciding it. */
async function slotLength(folder: FileHandle, size: number): Promise<number | null> {
  const path = inside(folder, slotFile)
  try {
    const handle = await open(path, 'wx', 0o600)
    try {
      // The line break shows that the number is whole.
      await handle.writeFile(`${size}\n`)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await syncDirectory(folder)
    return size
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error
  }
  const text = await readFile(path, 'latin1')
  return text.endsWith('\n') ? Number(text) : null
}

/** Returns false if the slot is claimed already. */
async function claim(folder: FileHandle, number: number): Promise<boolean> {
  try {
    await (await open(inside(folder, String(number)), 'wx', 0o600)).close()
    return true
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return false
    throw error
  }
}

const wholeFile = 'whole'
const claimPattern = /^\d{1,5}$/

/** Joins the parts to one file for `use`. If that fails, the upload can continue. @throws NOT_FOUND, PRECONDITION_FAILED */
async function withAssembled<T>(
  staging: FileHandle,
  state: UploadState,
  parts: readonly Part[],
  signal: AbortSignal,
  use: (assembled: Staged) => Promise<T>,
): Promise<T> {
  const [slots, kept] = [state.name, partsFolder(state)]
  const folder = await openChild(staging, kept).catch(failMissing)
  try {
    // From now on, no part can be added. An earlier call may have been killed after this.
    await rename(inside(staging, slots), inside(folder, wholeFile)).catch(error => {
      if (!hasErrno(error, 'ENOENT')) throw error
    })
    const handle = await open(inside(folder, wholeFile), constants.O_RDWR | constants.O_NOFOLLOW).catch(failMissing)
    try {
      if (await areInPlace(folder, parts)) return await use({ handle, folder, name: wholeFile })
      return await withCopied(folder, handle, parts, signal, use)
    } catch (error) {
      await rename(inside(folder, wholeFile), inside(staging, slots)).catch(() => {})
      throw error
    } finally {
      await handle.close()
    }
  } finally {
    await folder.close()
  }
}

/** Returns whether the slots are the file, and nobody who sends another part can still write to them. */
async function areInPlace(folder: FileHandle, parts: readonly Part[]): Promise<boolean> {
  const [first] = parts
  const last = parts.length
  const isInPlace = ({ number, size, slot }: Part, index: number) =>
    number === index + 1 && slot !== null && slot === first?.slot && (size === slot || number === last)
  if (!parts.every(isInPlace)) return false
  const claims = (await readdir(self(folder))).filter(name => claimPattern.test(name))
  return claims.length === parts.length && claims.every(name => Number(name) <= last)
}

/** Copies the parts to a new file. */
async function withCopied<T>(
  folder: FileHandle,
  slots: FileHandle,
  parts: readonly Part[],
  signal: AbortSignal,
  use: (assembled: Staged) => Promise<T>,
): Promise<T> {
  const name = randomUUID()
  const handle = await open(inside(folder, name), 'wx+', 0o666)
  try {
    let end = 0
    for (const { number, size, slot, file } of parts) {
      const start = slot === null ? 0 : (number - 1) * slot
      const source = await open(slot === null ? inside(folder, file) : self(slots), 'r').catch(error => {
        throw hasErrno(error, 'ENOENT') ? partMissing(error) : error
      })
      // The body closes its file.
      end = await writeBody(handle, new FileBody(source, { start, end: start + size }, signal), signal, end)
    }
    return await use({ handle, folder, name })
  } finally {
    await unlink(inside(folder, name)).catch(() => {})
    await handle.close()
  }
}

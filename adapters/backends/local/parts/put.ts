import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, lstat, mkdir, open, readFile, unlink } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Call } from '../../../contract.ts'
import { syncDirectory } from '../durable.ts'
import { hasErrno } from '../errors.ts'
import { inside } from '../names.ts'
import { failMissing, partsFolder, requireWhole, type UploadState, uploadId } from '../unfinished.ts'
import { openChild } from '../walk.ts'
import { writeBody } from '../write.ts'
import { tagOf } from './tag.ts'

/** The end of the last slot in bytes, which is below the 16 TiB that a file of ext4 can have. */
const maxEnd = 2 ** 43

/** The name of the file that contains the length of a slot. The first part creates it. */
const slotFile = 'slot'

/** Stores a part and returns its tag. @throws NOT_FOUND where the upload has ended */
export async function putPart(
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
    requireWhole((await writeBody(handle, body, signal, start)) - start, size)
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

import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises'
import { hasErrno } from '../errors.ts'
import { inside, self } from '../names.ts'
import { FileBody } from '../read.ts'
import type { Staged } from '../staging.ts'
import { failMissing, partsFolder, type UploadState } from '../unfinished.ts'
import { openChild } from '../walk.ts'
import { writeBody } from '../write.ts'
import { type Part, partMissing } from './tag.ts'

const wholeFile = 'whole'
const claimPattern = /^\d{1,5}$/

/** Joins the parts to one file for `use`. If that fails, the upload can continue. @throws NOT_FOUND, PRECONDITION_FAILED */
export async function withWhole<T>(
  staging: FileHandle,
  state: UploadState,
  parts: readonly Part[],
  signal: AbortSignal,
  use: (whole: Staged) => Promise<T>,
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
  use: (whole: Staged) => Promise<T>,
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

/** Files that only their owner can read. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CommandError } from './errors.ts'
import { exitCodes } from './exit-code.ts'

/** Bytes. */
const maxSize = 64 * 1024

/** Reads a file; null if there is none. @throws CommandError if other users can read or replace it */
export async function readPrivateFile(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (!file) return null
  try {
    const { mode, uid, size } = await file.stat()
    if ((mode & 0o077) !== 0 || uid !== process.getuid?.()) {
      const why = `Other users can read or change ${path}: run "chmod 600 ${path}" as its owner.`
      throw new CommandError(
        `${why} If somebody may have read it, revoke the key.`,
        'UNSAFE_FILE',
        exitCodes.failure.code,
      )
    }
    if (size > maxSize) throw new CommandError(`${path} is too large.`, 'INVALID_FILE', exitCodes.failure.code)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Replaces a file in one step, and creates its folder. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

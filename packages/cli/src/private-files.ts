/**
 * The files that the command line keeps in the folders of the XDG Base Directory Specification. Only their owner can read them.
 * See https://specifications.freedesktop.org/basedir-spec/.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { CommandError, exitCodes } from './errors.ts'

/** The environment variables that the command line reads. */
export type Environment = Readonly<Record<string, string | undefined>>

export function configFolder(environment: Environment): string {
  return join(baseFolder(environment.XDG_CONFIG_HOME, '.config'), 'stowage')
}

export function stateFolder(environment: Environment): string {
  return join(baseFolder(environment.XDG_STATE_HOME, '.local/state'), 'stowage')
}

/** The specification says to ignore relative paths. */
function baseFolder(given: string | undefined, otherwise: string): string {
  return given !== undefined && isAbsolute(given) ? given : join(homedir(), otherwise)
}

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
  const temporary = `${path}.${randomBytes(8).toString('hex')}`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

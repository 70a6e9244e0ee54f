/** Stores files on this machine, and decides which names they can have. */
import { randomBytes } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Conflict } from '../../../client/src/index.ts'
import { nameTaken, unsafeName } from '../errors.ts'

const temporaryPattern = /^\.stowage-[0-9a-f]{16}\.part$/

interface FileContent {
  body: AsyncIterable<Uint8Array>
  modifiedAt: Date | null
}

/**
 * Writes a file under another name and gives it its own name when it is complete. Its folder must exist.
 * @returns the path, which differs from the given one after `rename`
 * @throws CommandError if the name is taken
 */
export async function saveFile(path: string, { body, modifiedAt }: FileContent, conflict: Conflict): Promise<string> {
  const temporary = join(dirname(path), temporaryName())
  try {
    const file = await open(temporary, 'wx')
    try {
      await file.writeFile(body)
      if (modifiedAt) await file.utimes(new Date(), modifiedAt)
    } finally {
      await file.close()
    }
    if (conflict === 'replace') {
      await rename(temporary, path)
      return path
    }
    return await publish(temporary, path, conflict)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Gives the complete file its name, or a free one. Never replaces a file, even if another program creates it at the same time. */
async function publish(temporary: string, path: string, conflict: 'fail' | 'rename'): Promise<string> {
  for (const name of conflict === 'rename' ? candidateNames(basename(path), 'file') : [basename(path)]) {
    const candidate = join(dirname(path), name)
    if (await wasGiven(temporary, candidate)) return candidate
  }
  throw nameTaken(path)
}

/** Returns false if the name is taken. */
async function wasGiven(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(String(code))) throw error
  }
  // exFAT and some network file systems have no hard links.
  try {
    await (await open(path, 'wx')).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  await rename(temporary, path)
  return true
}

/** Returns the name of a file that is being downloaded. */
function temporaryName(): string {
  return `.stowage-${randomBytes(8).toString('hex')}.part`
}

export function isTemporary(name: string): boolean {
  return temporaryPattern.test(name)
}

/** Returns whether a name from a server can become part of a local path, so that no server writes outside the target folder. */
export function isSafeName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name) && !isTemporary(name)
}

/** @throws CommandError if the name is not safe */
export function requireSafeName(name: string): string {
  if (isSafeName(name)) return name
  throw unsafeName(name)
}

/** Yields a name, then its numbered variants: "name (1).txt" to "name (999).txt". */
export function* candidateNames(name: string, kind: 'file' | 'folder'): Generator<string, void, undefined> {
  yield name
  const dot = kind === 'file' ? name.lastIndexOf('.') : -1
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  for (let number = 1; number <= 999; number += 1) yield `${stem} (${number})${ending}`
}

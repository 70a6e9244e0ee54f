import { link, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Conflict } from '../../../client/src/index.ts'
import { nameTaken } from '../errors.ts'
import { candidateNames, draftName } from './names.ts'

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
  const draft = join(dirname(path), draftName())
  try {
    const file = await open(draft, 'wx')
    try {
      await file.writeFile(body)
      if (modifiedAt) await file.utimes(new Date(), modifiedAt)
    } finally {
      await file.close()
    }
    if (conflict === 'replace') {
      await rename(draft, path)
      return path
    }
    return await publish(draft, path, conflict)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Gives the draft its name, or a free one. Never replaces a file, even if another program creates it at the same time. */
async function publish(draft: string, path: string, conflict: 'fail' | 'rename'): Promise<string> {
  for (const name of conflict === 'rename' ? candidateNames(basename(path), 'file') : [basename(path)]) {
    const candidate = join(dirname(path), name)
    if (await wasGiven(draft, candidate)) return candidate
  }
  throw nameTaken(path)
}

/** Returns false if the name is taken. */
async function wasGiven(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
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
  await rename(draft, path)
  return true
}

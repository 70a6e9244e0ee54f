/** Gives files names that are free, or that other files have until then. */
import type { BigIntStats } from 'node:fs'
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises'
import { StorageError } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { inside } from './names.ts'
import { type identityOf, isSame } from './open.ts'

/** The errors of link(2) on disks without hard links, and for a file that can have no more of them. */
export const linkless = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'] as const

/** Gives a file a new name, if the name is free. `linked` keeps the old name, `claimed` does not. @throws EEXIST */
export async function linkOrClaim(from: string | Buffer, to: string | Buffer): Promise<'linked' | 'claimed'> {
  try {
    await link(from, to)
    return 'linked'
  } catch (error) {
    if (!hasErrno(error, ...linkless)) throw error
  }
  await claim(from, to)
  return 'claimed'
}

/**
 * Renames a file to a free name on disks without hard links (vfat, exFAT, some FUSE). The writer that creates the empty file
 * first wins and renames its own file over it. Readers may see the empty file for an instant.
 */
export async function claim(from: string | Buffer, to: string | Buffer): Promise<void> {
  await (await open(to, 'wx')).close()
  try {
    await rename(from, to)
  } catch (error) {
    await unlink(to)
    throw error
  }
}

/**
 * Keeps a file just before it is replaced. Takes its name and its open directory, and returns the identity of the file that it has kept, or
 * null if there is no such file.
 */
export type Keeper = (parent: FileHandle, name: string) => Promise<FileIdentity | null>

type FileIdentity = Awaited<ReturnType<typeof identityOf>>

/** The number of files that are kept for one change, because another one had taken the place of the one before. */
const maxReplaced = 8

/**
 * Gives a file a name, and keeps the file that has it until then. Only changes through the host take turns: others may move that file
 * away, delete it or replace it at any time.
 * @param take gives the file the name if it is free @throws EEXIST, ALREADY_EXISTS
 */
export async function replaceKept(
  from: string | Buffer,
  { parent, name }: { parent: FileHandle; name: string },
  keep: Keeper,
  take: () => Promise<void>,
): Promise<void> {
  const to = inside(parent, name)
  for (let attempt = 1; attempt <= maxReplaced; attempt += 1) {
    try {
      return await take()
    } catch (error) {
      if (!hasErrno(error, 'EEXIST', 'ALREADY_EXISTS')) throw error
    }
    const kept = await keep(parent, name)
    const existing = await statsOf(to)
    // The kernel decides whether a file may replace something else than a file.
    const isKept = existing && (kept ? isSame(existing, kept) : !existing.isFile())
    if (isKept) return await rename(from, to)
  }
  throw new StorageError('UNAVAILABLE', `"${name}" is replaced again and again: try again later.`)
}

/** Returns null if nothing has the name. */
export async function statsOf(path: string | Buffer): Promise<BigIntStats | null> {
  return await lstat(path, { bigint: true }).catch(error => {
    if (hasErrno(error, 'ENOENT')) return null
    throw error
  })
}

import { constants, copyFile, type FileHandle, lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { type Entry, StorageError } from '../contract.ts'
import { syncDirectory } from './durable.ts'
import { toEntry } from './entry.ts'
import { hasErrno, notFound } from './errors.ts'
import { inside, self } from './names.ts'
import { FileBody } from './read.ts'
import { isSame } from './root.ts'
import { clearStagingOf } from './staging.ts'
import { linkOrClaim } from './store.ts'
import { writeBody } from './write.ts'

/** Leaves the handles to the caller. Shares the blocks where the disk can (btrfs, XFS: at once, whatever the size), else in chunks that an abort ends. */
export async function copyBytes(
  source: FileHandle,
  size: number,
  target: FileHandle,
  signal: AbortSignal,
): Promise<void> {
  const { mode } = await target.stat()
  try {
    await copyFile(self(source), self(target), constants.COPYFILE_FICLONE_FORCE)
  } catch {
    await writeBody(target, new FileBody(source, { start: 0, end: size }, signal), signal)
  }
  // copyFile gives the source's, perhaps with setuid.
  await target.chmod(mode & 0o777)
}

export interface Place {
  parent: FileHandle
  name: string
}

type SystemPath = string | Buffer
type Identity = { dev: bigint; ino: bigint }

/** Between disks @throws EXDEV */
export async function moveEntry(from: Place, to: Place, overwrite: boolean): Promise<Entry> {
  const source = inside(from.parent, from.name)
  const stats = await lstat(source, { bigint: true })
  if (!toEntry(from.name, stats)) throw notFound()
  if (overwrite) await moveOver(source, to)
  else if (stats.isDirectory()) await moveDirectory(source, to)
  else await moveFile(source, stats, inside(to.parent, to.name))
  // The new name first: at worst a power cut leaves both.
  await syncDirectory(to.parent)
  await syncDirectory(from.parent)
  const entry = toEntry(to.name, await lstat(inside(to.parent, to.name), { bigint: true }))
  if (!entry) throw notFound()
  return entry
}

/** rename(2) keeps the rules itself: a file over a file, a directory over an empty one. */
async function moveOver(source: SystemPath, { parent, name }: Place): Promise<void> {
  const target = inside(parent, name)
  try {
    await rename(source, target)
  } catch (error) {
    if (!hasErrno(error, 'ENOTEMPTY', 'EEXIST') || !(await clearStagingOf(parent, name))) throw error
    await rename(source, target)
  }
}

/** mkdir(2) takes the name or fails, and rename(2) replaces a directory only while it is empty: nothing is ever lost. */
async function moveDirectory(source: SystemPath, { parent, name }: Place): Promise<void> {
  const target = inside(parent, name)
  await mkdir(target)
  try {
    await rename(source, target)
  } catch (error) {
    await rmdir(target).catch(() => {})
    throw hasErrno(error, 'ENOTEMPTY', 'EEXIST')
      ? new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause: error })
      : error
  }
}

/** Node has no renameat2(2) with RENAME_NOREPLACE, so: the new name, then away with the old one. */
async function moveFile(source: SystemPath, identity: Identity, target: SystemPath): Promise<void> {
  if ((await linkOrClaim(source, target)) === 'claimed') return
  try {
    await unlinkIfSame(source, identity)
  } catch (error) {
    // Whoever removed or moved it first has won; the file must not end up in two places.
    if (hasErrno(error, 'ENOENT')) await unlink(target)
    throw error
  }
}

/** A file that was written over the name meanwhile is not the one that was moved, and stays. */
export async function unlinkIfSame(path: SystemPath, identity: Identity): Promise<void> {
  if (isSame(await lstat(path, { bigint: true }), identity)) await unlink(path)
}

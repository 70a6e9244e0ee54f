import type { BigIntStats } from 'node:fs'
import { constants, copyFile, type FileHandle, lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { alreadyExists, notFound } from '../../bases/errors.ts'
import type { Entry } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { inside, self, toEntry } from './names.ts'
import { isSame, syncDirectory } from './open.ts'
import { FileBody } from './read.ts'
import { type Keeper, linkOrClaim, replaceKept } from './replace.ts'
import { clearStagingOf } from './staging.ts'
import { writeBody } from './write.ts'

/**
 * Copies a file between open handles. Shares blocks where the disk can (btrfs, XFS), otherwise copies chunks until an
 * abort.
 */
export async function copyBytes(
  source: FileHandle,
  size: number,
  destination: FileHandle,
  signal: AbortSignal,
): Promise<void> {
  const { mode } = await destination.stat()
  try {
    await copyFile(self(source), self(destination), constants.COPYFILE_FICLONE_FORCE)
  } catch {
    await writeBody(destination, new FileBody(source, { start: 0, end: size }, signal), signal)
  }
  // copyFile also copies the mode of the source, perhaps with setuid.
  await destination.chmod(mode & 0o777)
}

export interface NamedEntry {
  parent: FileHandle
  name: string
}

type SystemPath = string | Buffer
type Identity = { dev: bigint; ino: bigint }

/** Moves a file or a directory. @throws EXDEV between disks */
export async function moveEntry(
  from: NamedEntry,
  to: NamedEntry,
  { overwrite, keep }: { overwrite: boolean; keep?: Keeper | undefined },
): Promise<Entry> {
  const source = inside(from.parent, from.name)
  const stats = await lstat(source, { bigint: true })
  if (!toEntry(from.name, stats)) throw notFound()
  if (overwrite && (await areLinks(from, stats, to))) await unlinkIfSame(source, stats)
  else if (overwrite && keep && stats.isFile()) await moveAndKeep(source, stats, to, keep)
  else if (overwrite) await moveOver(source, to)
  else if (stats.isDirectory()) await moveDirectory(source, to)
  else await moveFile(source, stats, inside(to.parent, to.name))
  // Sync the new name first, so that a power cut can leave both names but never none.
  await syncDirectory(to.parent)
  await syncDirectory(from.parent)
  const entry = toEntry(to.name, await lstat(inside(to.parent, to.name), { bigint: true }))
  if (!entry) throw notFound()
  return entry
}

/**
 * Returns whether both names are hard links to one file, which rename(2) would leave as they are. Names that differ only in
 * case or normalization may be one name.
 */
async function areLinks(from: NamedEntry, { dev, ino, nlink }: BigIntStats, to: NamedEntry): Promise<boolean> {
  if (nlink < 2n) return false
  const fold = (name: string) => name.normalize('NFKD').toUpperCase().toLowerCase()
  const other = await lstat(inside(to.parent, to.name), { bigint: true }).catch(() => null)
  if (!other?.isFile() || !isSame(other, { dev, ino })) return false
  if (fold(from.name) !== fold(to.name)) return true
  const [a, b] = await Promise.all([from.parent.stat({ bigint: true }), to.parent.stat({ bigint: true })])
  return !isSame(a, b)
}

/** Moves a file, and keeps one that it replaces. */
async function moveAndKeep(source: SystemPath, identity: Identity, to: NamedEntry, keep: Keeper): Promise<void> {
  const destination = inside(to.parent, to.name)
  // On disks that ignore case, the destination can be another spelling of the source.
  const existing = await lstat(destination, { bigint: true }).catch(() => null)
  if (existing && isSame(existing, identity)) return await rename(source, destination)
  await replaceKept(source, to, keep, () => moveFile(source, identity, destination))
}

/** Moves over an existing entry. rename(2) allows only a file over a file and a directory over an empty one. */
async function moveOver(source: SystemPath, { parent, name }: NamedEntry): Promise<void> {
  const destination = inside(parent, name)
  try {
    await rename(source, destination)
  } catch (error) {
    if (!hasErrno(error, 'ENOTEMPTY', 'EEXIST') || !(await clearStagingOf(parent, name))) throw error
    await rename(source, destination)
  }
}

/** Moves a directory to a free name. mkdir(2) reserves the name, and rename(2) replaces only an empty directory. */
async function moveDirectory(source: SystemPath, { parent, name }: NamedEntry): Promise<void> {
  const destination = inside(parent, name)
  await mkdir(destination)
  try {
    await rename(source, destination)
  } catch (error) {
    await rmdir(destination).catch(() => {})
    throw hasErrno(error, 'ENOTEMPTY', 'EEXIST') ? alreadyExists(error) : error
  }
}

/** Moves a file to a free name: links the new name, then removes the old one, as Node has no renameat2(RENAME_NOREPLACE). */
async function moveFile(source: SystemPath, identity: Identity, destination: SystemPath): Promise<void> {
  if ((await linkOrClaim(source, destination)) === 'claimed') return
  try {
    await unlinkIfSame(source, identity)
  } catch (error) {
    // Another call has removed or moved the file first. Remove the new name, so that the file does not have two.
    if (hasErrno(error, 'ENOENT')) await unlink(destination)
    throw error
  }
}

/** Removes a name, unless another file was written over it since. */
async function unlinkIfSame(path: SystemPath, identity: Identity): Promise<void> {
  if (isSame(await lstat(path, { bigint: true }), identity)) await unlink(path)
}

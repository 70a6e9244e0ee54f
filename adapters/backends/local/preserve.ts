/** Keeps files that are replaced as earlier versions: as hard links, or as copies on disks that have no hard links. */
import { type FileHandle, link, lstat, unlink } from 'node:fs/promises'
import type { Call, Entry, Replacing, StoragePath } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { inside, splitPath, toEntry } from './names.ts'
import { type Root, syncDirectory, withCreatedDirectory } from './open.ts'
import { openFile } from './read.ts'
import { type Keeper, linkless } from './replace.ts'
import { copyBytes, type NamedEntry } from './transfer.ts'
import { store } from './write.ts'

/** Returns the function that keeps a file before a call replaces it; undefined if the host keeps none. */
export function keeperOf(root: Root, { keep, signal }: Call & Pick<Replacing, 'keep'>): Keeper | undefined {
  return (
    keep &&
    (async (parent, name) => {
      const result: { kept: Kept | null } = { kept: null }
      await keep(async to => {
        result.kept = await preserve(root, { parent, name }, to, signal)
        return result.kept?.entry ?? null
      })
      return result.kept
    })
  )
}

/** The entry of a version, and the file that it is of. */
interface Kept {
  entry: Entry
  dev: bigint
  ino: bigint
}

/** Lets a file have another path as well. Returns null if the file is gone. */
async function preserve(root: Root, from: NamedEntry, to: StoragePath, signal: AbortSignal): Promise<Kept | null> {
  const source = inside(from.parent, from.name)
  const { parents, name } = splitPath(to)
  return await withCreatedDirectory(root, parents, signal, async folder => {
    if (!(await isFile(source))) return null
    try {
      await link(source, inside(folder, name))
    } catch (error) {
      if (hasErrno(error, 'ENOENT') && !(await isFile(source))) return null
      // The kernel also refuses links to files of other users (protected_hardlinks in proc_sys_fs(5)).
      if (!hasErrno(error, 'EXDEV', ...linkless)) throw error
      return await copyTo(root, from, to, signal)
    }
    const kept = await linkedEntry(folder, name)
    await syncDirectory(folder)
    return kept
  })
}

async function isFile(path: string | Buffer): Promise<boolean> {
  return await lstat(path).then(
    stats => stats.isFile(),
    () => false,
  )
}

/** Removes the link if something that is not served has taken the place of the file. */
async function linkedEntry(folder: FileHandle, name: string): Promise<Kept | null> {
  const path = inside(folder, name)
  const stats = await lstat(path, { bigint: true })
  const entry = toEntry(name, stats)
  if (entry) return { entry, dev: stats.dev, ino: stats.ino }
  await unlink(path)
  return null
}

/** Returns the copy with the etag of the file and without its own id, so that the host recognizes the file by it. */
async function copyTo(root: Root, from: NamedEntry, to: StoragePath, signal: AbortSignal): Promise<Kept> {
  const { handle, entry } = await openFile(from.parent, from.name)
  try {
    const { modifiedAt, size, etag } = entry
    const destination = { root, ...splitPath(to), overwrite: false, modifiedAt: modifiedAt ?? undefined, signal }
    const { dev, ino, mode } = await handle.stat({ bigint: true })
    const { fileId: _, ...copy } = await store(destination, async target => {
      await copyBytes(handle, size ?? 0, target, signal)
      // The folder of the versions is as open as the root, and a restored file has the mode of its version.
      await target.chmod(Number(mode) & 0o777)
    })
    return { entry: { ...copy, ...(etag != null && { etag }) }, dev, ino }
  } finally {
    await handle.close()
  }
}

import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises'
import { type Entry, StorageError } from '../../contract.ts'
import { syncDirectory } from './durable.ts'
import { toEntry } from './entry.ts'
import { hasErrno, notFound } from './errors.ts'
import { inside, self } from './names.ts'
import { isAt, pathOf } from './open-directly.ts'
import { FileBody } from './read.ts'
import { release } from './release.ts'
import { identityOf, type Root } from './root.ts'
import { type Staged, withStaged } from './staging.ts'
import { openDeepestFrom, withCreatedDirectory, withDirectory } from './walk.ts'
import { writeBody } from './write.ts'

export interface Destination {
  root: Root
  parents: readonly string[]
  name: string
  overwrite: boolean
  /** The modification time of the file. Default: now. */
  modifiedAt?: Date | undefined
  signal: AbortSignal
}

/** Stores the bytes that `fill` writes as a file. It is staged first and becomes visible in one step. */
export async function store(destination: Destination, fill: (handle: FileHandle) => Promise<unknown>): Promise<Entry> {
  const { root, parents, modifiedAt, signal } = destination
  return await withDirectory(root, [], signal, async rootDirectory => {
    const { directory, depth } = await openDeepestFrom(rootDirectory, parents, signal)
    const hasParent = depth === parents.length
    try {
      // Fail before a client sends a gigabyte in vain. `publish` decides in the end.
      if (hasParent) await refuseExisting(directory, destination)
      const { dev } = await identityOf(directory)
      // Stage on the disk of the destination, as neither link(2) nor rename(2) works between disks.
      const options = dev === root.dev ? { parent: rootDirectory, keep: true } : { parent: directory, keep: false }
      return await withStaged({ ...options, modifiedAt }, fill, staged =>
        publishAt(staged, destination, hasParent ? directory : undefined),
      )
    } finally {
      release(directory)
    }
  })
}

/** @param parent the open parent directory, if known; it is used only if it still has this path */
export async function publishAt(
  staged: Staged,
  destination: Destination,
  parent: FileHandle | undefined,
): Promise<Entry> {
  const { root, parents, signal } = destination
  signal.throwIfAborted()
  if (parent && (await isAt(parent, pathOf(root, parents)))) {
    try {
      return await publishIn(parent, staged, destination)
    } catch (error) {
      // The directory was deleted at this moment.
      if (!hasErrno(error, 'ENOENT')) throw error
    }
  }
  return await withCreatedDirectory(root, parents, signal, made => publishIn(made, staged, destination))
}

async function publishIn(parent: FileHandle, staged: Staged, destination: Destination): Promise<Entry> {
  destination.signal.throwIfAborted()
  try {
    await publish(staged, parent, destination)
  } catch (error) {
    if (!hasErrno(error, 'EXDEV')) throw error
    return await publishCopy(staged, parent, destination)
  }
  await syncDirectory(parent)
  return await entryOf(staged, destination.name)
}

async function refuseExisting(parent: FileHandle, { name, overwrite }: Destination): Promise<void> {
  const stats = await lstat(inside(parent, name)).catch(error => {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  })
  if (stats && !overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
  if (stats?.isDirectory()) throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
}

async function publish(staged: Staged, parent: FileHandle, { name, overwrite }: Destination): Promise<void> {
  const from = inside(staged.folder, staged.name)
  const to = inside(parent, name)
  if (overwrite) return await rename(from, to)
  // The file is stored. A name that remains in the staging folder is swept later.
  if ((await linkOrClaim(from, to)) === 'linked') await unlink(from).catch(() => {})
}

/** Gives a file a new name, if the name is free. `linked` keeps the old name, `claimed` does not. @throws EEXIST */
export async function linkOrClaim(from: string | Buffer, to: string | Buffer): Promise<'linked' | 'claimed'> {
  try {
    await link(from, to)
    return 'linked'
  } catch (error) {
    if (!hasErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error
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

/** Copies the bytes to the destination where link(2) fails with EXDEV on one disk: bind mounts, project quotas. */
async function publishCopy(staged: Staged, parent: FileHandle, destination: Destination): Promise<Entry> {
  const { name, modifiedAt, signal } = destination
  const source = await open(self(staged.handle), 'r')
  const { size } = await source.stat()
  const copied = await withStaged(
    { parent, keep: false, modifiedAt },
    handle => writeBody(handle, new FileBody(source, { start: 0, end: size }, signal), signal),
    async again => {
      signal.throwIfAborted()
      await publish(again, parent, destination)
      await syncDirectory(parent)
      return await entryOf(again, name)
    },
  )
  await unlink(inside(staged.folder, staged.name)).catch(() => {})
  return copied
}

async function entryOf(staged: Staged, name: string): Promise<Entry> {
  const entry = toEntry(name, await staged.handle.stat({ bigint: true }))
  if (!entry) throw notFound()
  return entry
}

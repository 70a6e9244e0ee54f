import { type FileHandle, link, lstat, open, readlink, rename, unlink } from 'node:fs/promises'
import { type Entry, StorageError } from '../contract.ts'
import { syncDirectory } from './durable.ts'
import { toEntry } from './entry.ts'
import { hasErrno, notFound } from './errors.ts'
import { inside, self } from './names.ts'
import { FileBody } from './read.ts'
import { identityOf, type Root } from './root.ts'
import { type Staged, withStaged } from './staging.ts'
import { openDeepestFrom, withDirectory, withMadeDirectory } from './walk.ts'
import { writeBody } from './write.ts'

export interface Target {
  root: Root
  parents: readonly string[]
  name: string
  overwrite: boolean
  signal: AbortSignal
}

/** Makes a file out of what `fill` writes: staged first, visible in one step. */
export async function store(target: Target, fill: (handle: FileHandle) => Promise<unknown>): Promise<Entry> {
  const { root, parents, signal } = target
  return await withDirectory(root, [], signal, async rootDirectory => {
    const { directory, depth } = await openDeepestFrom(rootDirectory, parents, signal)
    const isThere = depth === parents.length
    try {
      // So that a client is told before it has sent a gigabyte; what decides is the publishing.
      if (isThere) await refuseTaken(directory, target)
      const { dev } = await identityOf(directory)
      // On another disk, mounted below the root, beside the target: neither link(2) nor rename(2) crosses over.
      const place = dev === root.dev ? { parent: rootDirectory, keep: true } : { parent: directory, keep: false }
      return await withStaged(place, fill, staged => publishAt(staged, target, isThere ? directory : undefined))
    } finally {
      await directory.close()
    }
  })
}

/** `parent` saves a second walk, if it still is where the path leads. */
export async function publishAt(staged: Staged, target: Target, parent: FileHandle | undefined): Promise<Entry> {
  const { root, parents, signal } = target
  signal.throwIfAborted()
  if (parent && (await isAt(parent, [root.path, ...parents].join('/')))) {
    try {
      return await publishIn(parent, staged, target)
    } catch (error) {
      // Deleted in that moment.
      if (!hasErrno(error, 'ENOENT')) throw error
    }
  }
  return await withMadeDirectory(root, parents, signal, made => publishIn(made, staged, target))
}

async function isAt(directory: FileHandle, path: string): Promise<boolean> {
  return await readlink(self(directory)).then(
    now => now === path,
    () => false,
  )
}

async function publishIn(parent: FileHandle, staged: Staged, target: Target): Promise<Entry> {
  target.signal.throwIfAborted()
  try {
    await publish(staged, parent, target)
  } catch (error) {
    if (!hasErrno(error, 'EXDEV')) throw error
    return await publishCopy(staged, parent, target)
  }
  await syncDirectory(parent)
  return await entryOf(staged, target.name)
}

async function refuseTaken(parent: FileHandle, { name, overwrite }: Target): Promise<void> {
  const stats = await lstat(inside(parent, name)).catch(error => {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  })
  if (stats && !overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
  if (stats?.isDirectory()) throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
}

async function publish(staged: Staged, parent: FileHandle, { name, overwrite }: Target): Promise<void> {
  const from = inside(staged.folder, staged.name)
  const to = inside(parent, name)
  if (overwrite) return await rename(from, to)
  // The file is where it belongs; a name left in the staging folder is swept.
  if ((await linkOrClaim(from, to)) === 'linked') await unlink(from).catch(() => {})
}

/** Gives a file a name that is free. A link leaves the old name, a claim takes it away. @throws EEXIST */
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
 * Where the disk has no hard links (vfat, exFAT, some FUSE): whoever makes the empty file first wins, and its own
 * rename fills it. A reader may meet the empty file for that instant.
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

/** Some borders only show in link(2): bind mounts, project quotas. There the bytes go over them once more. */
async function publishCopy(staged: Staged, parent: FileHandle, target: Target): Promise<Entry> {
  const { name, signal } = target
  const source = await open(self(staged.handle), 'r')
  const { size } = await source.stat()
  const copied = await withStaged(
    { parent, keep: false },
    handle => writeBody(handle, new FileBody(source, { start: 0, end: size }, signal), signal),
    async again => {
      signal.throwIfAborted()
      await publish(again, parent, target)
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

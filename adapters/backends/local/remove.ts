import { type FileHandle, readdir, rmdir, unlink } from 'node:fs/promises'
import { notEmpty } from '../../bases/errors.ts'
import { StorageError } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { bytesOf, inside, self } from './names.ts'
import { identityOf, isSame, openChild } from './open.ts'
import { clearStagingOf } from './staging.ts'

/** The maximum number of concurrent unlink(2) calls, as all work shares the thread pool. */
const unlinksAtOnce = 32

/** The number of times that a directory is emptied again when others keep filling it. */
const maxEmptied = 16

/**
 * Removes the entry of this name, but never what a symbolic link points to. Resolves for a missing name. @throws
 * NOT_EMPTY
 */
export async function removeEntry(parent: FileHandle, name: string): Promise<void> {
  if (await removeUnlessFull(parent, name)) return
  if ((await clearStagingOf(parent, name)) && (await removeUnlessFull(parent, name))) return
  throw notEmpty()
}

/** Removes an entry. Returns false for a directory that is not empty. */
async function removeUnlessFull(parent: FileHandle, name: string | Buffer): Promise<boolean> {
  try {
    await unlink(inside(parent, name))
    return true
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return true
    if (!hasErrno(error, 'EISDIR')) throw error
  }
  try {
    await rmdir(inside(parent, name))
    return true
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return true
    // ENOTDIR: another entry has got the name since.
    if (hasErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false
    throw error
  }
}

/** A directory on the path from the parent of the tree to the current directory. */
interface Level {
  dev: bigint
  ino: bigint
  /** The names of directories in it that are still to be removed, as Latin-1. */
  pending: string[]
  /** The number of times that the last of them was emptied. */
  emptied: number
}

/**
 * Removes a tree, depth first. At any depth, it has only one directory open besides `parent`: it returns through `..` and
 * checks that this is the directory that it came from, as somebody may have moved the current one. It removes symbolic links
 * and never follows them.
 *
 * After an error or an abort, the rest of the tree stays visible.
 */
export async function removeTree(parent: FileHandle, name: string, signal: AbortSignal): Promise<void> {
  const levels: Level[] = [await levelOf(parent, [Buffer.from(name).toString('latin1')])]
  let current = parent
  const moveTo = async (next: FileHandle) => {
    const previous = current
    current = next
    if (previous !== parent) await previous.close()
  }
  try {
    for (let level = levels.at(-1); level; level = levels.at(-1)) {
      signal.throwIfAborted()
      const child = level.pending.at(-1)
      if (child === undefined) {
        levels.pop()
        const above = levels.at(-1)
        if (above) await moveTo(levels.length === 1 ? parent : await openAbove(current, above))
      } else if (await removeUnlessFull(current, bytesOf(child))) {
        level.pending.pop()
        level.emptied = 0
      } else {
        level.emptied += 1
        if (level.emptied > maxEmptied) {
          throw new StorageError('NOT_EMPTY', 'Others keep adding to this folder. Delete it again when they are done.')
        }
        await moveTo(await openChild(current, bytesOf(child)))
        levels.push(await levelOf(current, await removeFiles(current, signal)))
      }
    }
  } finally {
    if (current !== parent) await current.close()
  }
}

async function levelOf(directory: FileHandle, pending: string[]): Promise<Level> {
  return { ...(await identityOf(directory)), pending, emptied: 0 }
}

/** Removes files and empty directories. Returns the names of the other directories, as Latin-1. */
async function removeFiles(directory: FileHandle, signal: AbortSignal): Promise<string[]> {
  const names = await readdir(self(directory), { encoding: 'latin1' })
  const full: string[] = []
  for (let start = 0; start < names.length; start += unlinksAtOnce) {
    signal.throwIfAborted()
    const batch = names.slice(start, start + unlinksAtOnce)
    const results = await Promise.allSettled(batch.map(name => removeUnlessFull(directory, bytesOf(name))))
    for (const [index, result] of results.entries()) {
      if (result.status === 'rejected') throw result.reason
      const name = batch[index]
      if (!result.value && name !== undefined) full.push(name)
    }
  }
  return full
}

async function openAbove(directory: FileHandle, expected: Level): Promise<FileHandle> {
  const above = await openChild(directory, '..')
  if (isSame(await identityOf(above), expected)) return above
  await above.close()
  throw new StorageError('UNAVAILABLE', 'A folder was moved while it was deleted. Delete the rest of it again.')
}

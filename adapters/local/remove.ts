import { type FileHandle, readdir, rmdir, unlink } from 'node:fs/promises'
import { StorageError } from '../contract.ts'
import { hasErrno } from './errors.ts'
import { bytesOf, inside, self } from './names.ts'
import { identityOf, isSame } from './root.ts'
import { clearStagingOf } from './staging.ts'
import { openChild } from './walk.ts'

/** unlink(2) calls under way at once: the thread pool is everybody's. */
const unlinksAtOnce = 32

const maxEmptied = 16

/** Whatever has the name, but never what a symbolic link points to. A missing one resolves. @throws NOT_EMPTY */
export async function removeEntry(parent: FileHandle, name: string): Promise<void> {
  if (await removeUnlessFull(parent, name)) return
  if ((await clearStagingOf(parent, name)) && (await removeUnlessFull(parent, name))) return
  throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
}

/** False for a directory that is not empty. */
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
    // ENOTDIR: something else got the name in between.
    if (hasErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false
    throw error
  }
}

/** A directory on the way from the parent of the tree down to the current one. */
interface Level {
  dev: bigint
  ino: bigint
  /** What is still to be removed in it: directories that are not empty, as Latin-1. */
  pending: string[]
  /** How often the last one of them was emptied: others may be filling it. */
  emptied: number
}

/**
 * Depth first, without recursion and with one open directory besides `parent`, however deep the tree: the way back up is
 * `..`, which counts only if it is the directory that we came from (somebody may have moved the current one).
 * Symbolic links are removed and never entered.
 *
 * Where it stops half way, by an error or an abort, what is left stays visible.
 */
export async function removeTree(parent: FileHandle, name: string, signal: AbortSignal): Promise<void> {
  const levels: Level[] = [await levelOf(parent, [Buffer.from(name).toString('latin1')])]
  let current = parent
  const moveTo = async (next: FileHandle) => {
    const left = current
    current = next
    if (left !== parent) await left.close()
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

/** Returns the directories that are not empty, as Latin-1. */
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
  throw new StorageError('UNAVAILABLE', 'A folder was moved while it was deleted. Delete what is left of it again.')
}

import { childOf, nameOf, parentOf, root, type StoragePath, segmentsOf } from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { ShareRecord } from '../../db/shares/record.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { candidates, longestSuffix, nameTaken } from '../files/conflict.ts'

/** Reasons why there is no entry at a path. The folder above it may be a file. */
const absent: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER'])
/** The numbers that are tried for each folder. They are few because a path can have many folders. */
const maxNumber = 3
/** Bytes of UTF-8. Every back end stores paths of this length. */
const shortPath = 200

/**
 * Returns the path for a dropped file with each folder numbered whose name a file has, so that the file can be stored and its
 * sender does not learn of the other one.
 * @throws INVALID_PATH if the path could become too long, whatever is taken
 */
export async function freeFolder(
  storage: Storage,
  granted: Grant<'write'>,
  { paths: [top = root] }: Pick<ShareRecord, 'paths'>,
  signal: AbortSignal,
): Promise<StoragePath> {
  async function kindAt(path: StoragePath): Promise<'file' | 'directory' | null> {
    try {
      return (await (await storage.writeAt(grant(granted.viewer, { ...granted, path }))).stat(signal)).kind
    } catch (error) {
      if (error instanceof AppError && absent.has(error.reason)) return null
      throw error
    }
  }

  /** Returns the folder, or a numbered one that is no file. */
  async function free(folder: StoragePath): Promise<{ folder: StoragePath; isMissing: boolean }> {
    for (const candidate of candidates(folder, 'directory', { numbers: maxNumber })) {
      const kind = await kindAt(candidate)
      if (kind !== 'file') return { folder: candidate, isMissing: kind === null }
    }
    throw nameTaken(folder)
  }

  const names = segmentsOf(granted.path).slice(segmentsOf(top).length)
  const longest = names.reduce<StoragePath>((path, name) => childOf(path, name + longestSuffix), top)
  // The back end refuses a path that is too long for it.
  if (Buffer.byteLength(longest) > shortPath) await kindAt(longest)
  const parent = parentOf(granted.path)
  // Most files go to a folder that exists, which takes one lookup.
  if (parent === top || (await kindAt(parent)) === 'directory') return granted.path
  let found = { folder: top, isMissing: false }
  for (const name of names.slice(0, -1)) {
    const folder = childOf(found.folder, name)
    found = found.isMissing ? { folder, isMissing: true } : await free(folder)
  }
  return childOf(found.folder, nameOf(granted.path))
}

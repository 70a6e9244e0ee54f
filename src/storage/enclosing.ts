/** Which stored folders a path lies in, by their ids. */
import { ancestorsOf, isWithin, type StoragePath } from '../auth/path.ts'
import { AppError } from '../errors.ts'
import type { CheckedEntry } from './validate-entry.ts'

/** Deeper than any sensible tree; each level takes a request to the back end. */
const maxDepth = 512
const atOnce = 8

/**
 * Ids of the folders that enclose `path`, as far as they exist and the back end tells ids.
 *
 * @param known a path of the same provider: folders that enclose it, too, are left out
 * @throws INVALID_INPUT for a path that is too deep
 */
export async function enclosingIds(
  path: StoragePath,
  known: StoragePath | null,
  stat: (folder: StoragePath) => Promise<CheckedEntry>,
): Promise<ReadonlySet<string>> {
  const folders = ancestorsOf(path).filter(folder => known === null || known === folder || !isWithin(known, folder))
  if (folders.length > maxDepth) throw new AppError('INVALID_INPUT', `The target is deeper than ${maxDepth} folders.`)
  const ids = new Set<string>()
  for (let start = 0; start < folders.length; start += atOnce) {
    const found = await Promise.all(folders.slice(start, start + atOnce).map(folder => stat(folder).catch(asUnknown)))
    for (const entry of found) if (entry?.fileId) ids.add(entry.fileId)
    if (found.includes(undefined)) break
  }
  return ids
}

/** Undefined where nothing lies below; null where credentials for a part of the back end may not look above it. */
function asUnknown(error: unknown): undefined | null {
  if (error instanceof AppError && error.reason === 'NOT_FOUND') return undefined
  if (error instanceof AppError && error.reason === 'BACK_END_REFUSED') return null
  throw error
}

/** Finds the stored folders that enclose a path, by their ids. */
import { ancestorsOf, isWithin, type StoragePath } from '../auth/path.ts'
import { AppError } from '../errors.ts'
import type { CheckedEntry } from './validate-entry.ts'

/** The maximum depth, because each level costs a request to the back end. */
const maxDepth = 512
const concurrency = 8

/**
 * Returns the ids of the folders that enclose `path`, without those that are missing or have no id.
 *
 * @param known a path of the same provider whose own enclosing folders are omitted
 * @throws INVALID_INPUT if the path is too deep
 */
export async function enclosingIds(
  path: StoragePath,
  known: StoragePath | null,
  stat: (folder: StoragePath) => Promise<CheckedEntry>,
): Promise<ReadonlySet<string>> {
  const folders = ancestorsOf(path).filter(folder => known === null || known === folder || !isWithin(known, folder))
  if (folders.length > maxDepth)
    throw new AppError('INVALID_INPUT', `The destination is more than ${maxDepth} folders deep.`)
  const ids = new Set<string>()
  for (let start = 0; start < folders.length; start += concurrency) {
    const found = await Promise.all(
      folders.slice(start, start + concurrency).map(folder => stat(folder).catch(asUnknown)),
    )
    for (const entry of found) if (entry?.fileId) ids.add(entry.fileId)
    if (found.includes(undefined)) break
  }
  return ids
}

/** Returns undefined if the folder is missing, and null if the provider's credentials do not permit access to it. */
function asUnknown(error: unknown): undefined | null {
  if (error instanceof AppError && error.reason === 'NOT_FOUND') return undefined
  if (error instanceof AppError && error.reason === 'BACK_END_REFUSED') return null
  throw error
}

/** What an archive of a folder holds, met one by one. */
import type { StoragePath } from '../../auth/path.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { ReadLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { children, requireDepth } from './tree.ts'

/** `error` says why what is below a folder, or all that follows in it, could not be listed. */
export type ArchiveItem = { location: ReadLocation } & (
  | { entry: CheckedEntry; error?: never }
  | { entry?: never; path: StoragePath; error: AppError }
)

/** Of one entry alone: the others are as good as without it. Anything else ends the archive. */
const leftOut: ReadonlySet<Reason> = new Set([
  'NOT_FOUND',
  'NOT_A_FILE',
  'NOT_A_FOLDER',
  'INVALID_PATH',
  'BACK_END_REFUSED',
])

/** True where one entry cannot be had, but the rest of the folder can. */
export function isLeftOut(error: unknown): error is AppError {
  return error instanceof AppError && leftOut.has(error.reason)
}

/**
 * All below a folder, each folder before what is in it, a page of a listing at a time.
 * @throws as `Files.list`, of the folder itself; INVALID_INPUT where it is too deep
 */
export async function* archiveItems(
  folder: ReadLocation,
  signal: AbortSignal,
  depth = 0,
): AsyncGenerator<ArchiveItem, void, undefined> {
  requireDepth(depth)
  try {
    for await (const entry of children(folder, signal)) {
      const location = childOf(folder, entry.name)
      if (location instanceof AppError) {
        yield { location: folder, path: `${folder.path}/${entry.name}` as StoragePath, error: location }
        continue
      }
      yield { location, entry }
      if (entry.kind === 'directory') yield* archiveItems(location, signal, depth + 1)
    }
  } catch (error) {
    if (depth === 0 || !isLeftOut(error)) throw error
    yield { location: folder, path: folder.path, error }
  }
}

/** The error where the path grows too long. */
function childOf(folder: ReadLocation, name: string): ReadLocation | AppError {
  try {
    return folder.child(name)
  } catch (error) {
    if (isLeftOut(error)) return error
    throw error
  }
}

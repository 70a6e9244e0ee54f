/** Iterates over the entries of a folder for an archive. */
import type { StoragePath } from '../../auth/path.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { ReadLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { children, requireDepth } from './tree.ts'

/** An entry, or the error that stopped the listing of a folder. */
export type ArchiveItem = { location: ReadLocation } & (
  | { entry: CheckedEntry; error?: never }
  | { entry?: never; path: StoragePath; error: AppError }
)

/** Errors that concern one entry only: the archive continues without it. Any other error ends the archive. */
const leftOut: ReadonlySet<Reason> = new Set([
  'NOT_FOUND',
  'NOT_A_FILE',
  'NOT_A_FOLDER',
  'INVALID_PATH',
  'BACK_END_REFUSED',
])

/** Returns whether an error concerns one entry only, so the archive can continue. */
export function isLeftOut(error: unknown): error is AppError {
  return error instanceof AppError && leftOut.has(error.reason)
}

/** Archives that one credential may have under way in this process; each holds buffers and reads the disk. */
const maxArchives = 8

/** Archives under way in this process, by credential. */
export class Archives {
  readonly #counts = new Map<string, number>()

  /**
   * All below a folder. Counts as one archive of the credential from the first item to the last.
   * @throws TOO_MANY_ARCHIVES; as `archiveItems`
   */
  async *items(folder: ReadLocation, signal: AbortSignal): AsyncGenerator<ArchiveItem, void, undefined> {
    const { credentialId } = folder.grant.viewer
    const count = this.#counts.get(credentialId) ?? 0
    if (count >= maxArchives) {
      throw new AppError(
        'TOO_MANY_ARCHIVES',
        `This credential downloads ${maxArchives} folders already: wait until one of them is complete.`,
      )
    }
    this.#counts.set(credentialId, count + 1)
    try {
      yield* archiveItems(folder, signal)
    } finally {
      const others = (this.#counts.get(credentialId) ?? 1) - 1
      if (others === 0) this.#counts.delete(credentialId)
      else this.#counts.set(credentialId, others)
    }
  }
}

/**
 * Yields everything below a folder, each folder before its content, loading one page of a listing at a time.
 * @throws as `Files.list` for the folder itself; INVALID_INPUT if the tree is too deep
 */
async function* archiveItems(
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

/** Returns the error if the path is too long. */
function childOf(folder: ReadLocation, name: string): ReadLocation | AppError {
  try {
    return folder.child(name)
  } catch (error) {
    if (isLeftOut(error)) return error
    throw error
  }
}

/** Iterates over the entries of a folder for an archive. */
import type { StoragePath } from '../../auth/path.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
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

/** The maximum number of archives of one credential that run at the same time in this process. */
const maxOfCredential = 8
/**
 * The maximum number of archives of all credentials in this process. Each takes up to 4.5 MiB of buffers, so all take
 * less than 300 MiB.
 */
const maxInAll = 64

/** The running archives of this process, by credential. */
export class Archives {
  readonly #counts = new Map<string, number>()
  #total = 0

  /**
   * Yields everything below a folder. Counts as one archive of the credential from the first item to the last.
   * @throws TOO_MANY_ARCHIVES; as `archiveItems`
   */
  async *items(folder: ReadLocation, signal: AbortSignal): AsyncGenerator<ArchiveItem, void, undefined> {
    const { credentialId } = folder.grant.viewer
    const count = this.#counts.get(credentialId) ?? 0
    if (count >= maxOfCredential) throw tooMany(`This credential is already downloading ${count} folders`)
    if (this.#total >= maxInAll) throw tooMany('The server is already creating as many archives as it can')
    this.#count(credentialId, 1)
    try {
      yield* archiveItems(folder, signal)
    } finally {
      this.#count(credentialId, -1)
    }
  }

  #count(credentialId: string, change: 1 | -1): void {
    this.#total += change
    const count = (this.#counts.get(credentialId) ?? 0) + change
    if (count === 0) this.#counts.delete(credentialId)
    else this.#counts.set(credentialId, count)
  }
}

function tooMany(what: string): AppError {
  return new AppError('TOO_MANY_ARCHIVES', `${what}: wait until one of them is complete.`)
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

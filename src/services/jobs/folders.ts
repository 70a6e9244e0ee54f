/** The folders of a job: lists them, knows the names in them, and creates or opens those at the target. */
import { formatPath } from '../../auth/path.ts'
import type { JobEntry, NewJobEntry } from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { isMissing, nameTaken, statOrNull, taken, unlessTaken } from '../files/conflict.ts'
import { isSameObject } from '../files/copying.ts'
import { CursorCheck, children } from '../files/tree.ts'
import type { Earlier, JobRun } from './job-run.ts'

/** A folder at the target, as an entry of the job needs it. */
export type TargetFolder = Pick<NewJobEntry, 'state' | 'targetPath' | 'isNewTarget' | 'isStarted'>

interface FolderPair {
  source: CheckedEntry
  /** The folder at the target. */
  folder: WriteLocation
  existing: CheckedEntry | null
  earlier: Earlier | null
  /** Only the content of the source goes into the folder, which may exist. */
  isMerged: boolean
}

/**
 * Creates a folder at the target, or opens one that the job may add to.
 * @throws ALREADY_EXISTS, NOT_A_FOLDER, INTO_ITSELF
 */
export async function openFolder(run: JobRun, pair: FolderPair): Promise<TargetFolder> {
  const { job, signal, sourceFolders } = run
  const { source, folder, existing } = pair
  const targetPath = formatPath(folder.path)
  if (!existing) {
    const made = job.dryRun ? null : await unlessTaken(() => folder.mkdir(signal, { exclusive: true }))
    if (made === taken) throw nameTaken(folder.path)
    return { state: 'FOLDER', targetPath, isNewTarget: true }
  }
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  if (job.kind === 'SYNC' && existing.fileId !== null && sourceFolders.has(existing.fileId)) {
    throw new AppError('INTO_ITSELF', 'The folder at the target contains a source of the job.')
  }
  if (isSameObject(source, existing)) {
    throw new AppError('ALREADY_EXISTS', `"${targetPath}" and its source are the same folder.`)
  }
  if (!(await mayAdd(run, pair))) throw nameTaken(folder.path)
  const { earlier } = pair
  return { state: 'FOLDER', targetPath, isNewTarget: earlier?.isInNewFolder === true, isStarted: earlier !== null }
}

/** Returns whether the job may add to an existing folder. Nothing is lost if it adds to an empty one. */
async function mayAdd({ job, signal }: JobRun, { folder, earlier, isMerged }: FolderPair): Promise<boolean> {
  if (isMerged || job.kind === 'SYNC' || (job.conflict !== 'FAIL' && job.conflict !== 'RENAME')) return true
  return earlier !== null && (earlier.isInNewFolder || (await isEmpty(folder, signal)))
}

async function isEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  for await (const _entry of children(folder, signal)) return false
  return true
}

/** Entries of one folder that are kept in memory, at about 300 bytes each. Those of larger folders are looked up one by one. */
export const maxKept = 10_000

/** The names that exist in a folder at one moment, such as at the target before a job adds to it. */
export class FolderNames {
  readonly #folder: ReadLocation
  readonly #signal: AbortSignal
  /** Null if there are too many to keep. */
  readonly #entries: ReadonlyMap<string, CheckedEntry> | null

  private constructor(folder: ReadLocation, signal: AbortSignal, entries: Map<string, CheckedEntry> | null) {
    this.#folder = folder
    this.#signal = signal
    this.#entries = entries
  }

  /**
   * A missing folder has no names, unless it `isRequired`.
   * @param options.max the number of entries that are kept in memory
   * @throws NOT_FOUND if so
   */
  static async load(
    folder: ReadLocation,
    {
      isEmpty,
      isRequired = false,
      max = maxKept,
      signal,
    }: { isEmpty: boolean; isRequired?: boolean; max?: number; signal: AbortSignal },
  ): Promise<FolderNames> {
    const entries = new Map<string, CheckedEntry>()
    if (isEmpty) return new FolderNames(folder, signal, entries)
    try {
      for await (const entry of children(folder, signal)) {
        if (entries.size === max) return new FolderNames(folder, signal, null)
        entries.set(entry.name, entry)
      }
    } catch (error) {
      if (isRequired || !isMissing(error)) throw error
    }
    return new FolderNames(folder, signal, entries)
  }

  /** Returns whether the name is known to be free, without a lookup. */
  isFree(name: string): boolean {
    return this.#entries?.has(name) === false
  }

  /** Returns the entry with this name, or null. */
  async find(name: string): Promise<CheckedEntry | null> {
    return this.#entries ? (this.#entries.get(name) ?? null) : statOrNull(this.#folder.child(name), this.#signal)
  }
}

/** Lists a folder of a job page by page. */
export class PageReader {
  readonly #cursors = new CursorCheck()
  readonly #entry: JobEntry

  constructor(entry: JobEntry) {
    this.#entry = entry
  }

  /**
   * Returns the page at a cursor. Cursors of earlier runs may have expired, so a retry lists from the start.
   * @throws BACK_END_FAULT if the listing would not end
   */
  async read(
    folder: ReadLocation,
    { cursor, isRetry }: { cursor: string | null; isRetry: boolean },
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<ReadLocation['list']>>> {
    const isOfThisRun = cursor !== this.#entry.cursor
    const from = isRetry && !isOfThisRun ? null : cursor
    const page = await folder.list(signal, { cursor: from, limit: maxPageSize })
    this.#cursors.check(page.cursor)
    return page
  }
}

/** COPY, MOVE and SYNC: works on one entry of a job at a time and stores the folders that it finds for later. */
import { formatPath, isWithin, nameOf, parsePath, root, type StoragePath } from '../../auth/path.ts'
import type { EntryMove } from '../../db/file-versions.ts'
import { commitStep, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { candidates, isMissing, nameTaken, statOrNull, taken, unlessTaken } from '../files/conflict.ts'
import { smallBytes } from '../files/content.ts'
import { hasSameChecksums, requireCopied, requireOutside } from '../files/copying.ts'
import { requireDepth } from '../files/tree.ts'
import { FolderNames, openFolder, PageReader, type TargetFolder } from './folders.ts'
import {
  childPath,
  type Earlier,
  earlierOf,
  followMoves,
  isPointless,
  type JobRun,
  keepsAllOrNone,
  sourceAt,
  type Tally,
  targetAt,
  withTally,
  writable,
} from './job-run.ts'
import { copiedEntry, transferFile } from './transfer-file.ts'

/** The number of files that are copied together. */
const filesPerBatch = 64

/**
 * Works on a source as the job names it: a file, or the top of a tree. It also works on single files that failed
 * before.
 */
export async function transferOne(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    const found: NewJobEntry[] = []
    await tally.attempt(run, entry, async isRetry => {
      const [from, to] = [sourceAt(run, entry), targetAt(run, entry.targetPath)]
      const earlier = earlierOf(run, entry, entry.isStarted || isRetry)
      const source = await statUnlessMoved(run, from, to, earlier)
      if (!source) {
        // The source may have been a folder.
        run.progress.forgetTotals()
        tally.add(null)
        tally.moved.push({ from, to })
        return
      }
      const folder = await transferSource(run, tally, { from, source, to, earlier, mayRename: entry.depth === 0 })
      if (folder) found.push({ ...folder, providerId: entry.providerId, path: entry.path, depth: entry.depth })
    })
    await followMoves(run, tally.moved)
    const next = { kind: 'done' } as const
    await commitStep(run.db, run, entry, { next, found, done: tally })
  })
}

/** Returns null if an earlier attempt of a MOVE has moved the entry. @throws NOT_FOUND if it is missing otherwise */
async function statUnlessMoved(
  { job, signal }: JobRun,
  from: ReadLocation,
  to: WriteLocation,
  earlier: Earlier | null,
): Promise<CheckedEntry | null> {
  return from.stat(signal).catch(async error => {
    const mayBeMoved = job.kind === 'MOVE' && !keepsAllOrNone(job) && earlier !== null
    if (mayBeMoved && isMissing(error) && (await statOrNull(to, signal))) return null
    throw error
  })
}

/** Works on a folder page by page. Its files are copied here, and its folders become entries of the job. */
export async function transferFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const opened = await withTally(run, async tally => {
    const folder = await tally.attempt(run, entry, () => openBoth(run, entry))
    if (!folder) await commitStep(run.db, run, entry, { next: { kind: 'done' }, found: [], done: tally })
    return folder
  })
  if (!opened) return
  let { cursor, hasFailed } = entry
  do {
    const result = await withTally(run, tally => transferPage(run, tally, entry, opened, { cursor, hasFailed }))
    cursor = result.cursor
    hasFailed = result.hasFailed
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null && !isPointless(run))
}

async function openBoth(run: JobRun, entry: JobEntry): Promise<Folder> {
  requireDepth(entry.depth)
  const to = targetAt(run, entry.targetPath)
  const isEmpty = entry.isNewTarget && !entry.isStarted
  const names = await FolderNames.load(to, { isEmpty, signal: run.signal })
  return { from: sourceAt(run, entry), to, names, pages: new PageReader(entry) }
}

interface Folder {
  from: ReadLocation
  to: WriteLocation
  /** The entries of the source. */
  pages: PageReader
  /** The names that the target has. */
  names: FolderNames
}

async function transferPage(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  folder: Folder,
  at: { cursor: string | null; hasFailed: boolean },
): Promise<{ cursor: string | null; hasFailed: boolean }> {
  const { job, signal } = run
  const found: NewJobEntry[] = []
  const listed = await tally.attempt(run, { ...entry, cursor: at.cursor }, isRetry =>
    folder.pages.read(folder.from, { cursor: at.cursor, isRetry }, signal),
  )
  const { entries, cursor } = listed ?? { entries: [], cursor: null }
  let isCut = false
  const transferAlone = (child: CheckedEntry, copy?: () => Promise<CheckedEntry | null>) => {
    const location = {
      providerId: entry.providerId,
      path: childPath(folder.from.path, child.name),
      targetPath: childPath(folder.to.path, child.name),
      depth: entry.depth + 1,
    }
    const state = child.kind === 'file' ? ('FILE' as const) : ('SOURCE' as const)
    return tally.attempt(run, { ...location, state, isNewTarget: entry.isNewTarget }, async isRetry => {
      const made = isRetry ? null : await copy?.()
      if (made) return finishCopy(run, tally, folder, child, made)
      await run.limits.run([entry.providerId, folder.to.providerId], async () => {
        signal.throwIfAborted()
        // A first attempt may have made a copy, which has to be found.
        if (isPointless(run) && !isRetry) {
          isCut = true
          return
        }
        const opened = await transferChild(run, tally, entry, folder, { child, isRetry })
        if (opened) found.push({ ...location, ...opened })
      })
    })
  }
  const batches = startBatchCopies(run, folder, entries)
  const isInBatch = new Set(batches.flatMap(({ files }) => files))
  const alone = entries.filter(child => !isInBatch.has(child)).map(child => transferAlone(child))
  const together = batches.map(async ({ files, copies }) => {
    // Each file reports the error.
    const made = await copies.catch(() => [])
    const others: Promise<unknown>[] = []
    for (const [index, file] of files.entries()) {
      const copy = made[index]
      if (copy && !keepsAllOrNone(job) && hasSameChecksums(copy, file)) tally.add(file.size)
      else others.push(transferAlone(file, async () => (await copies)[index] ?? null))
    }
    await allDone(others)
  })
  await allDone([...alone, ...together])
  const hasFailed = at.hasFailed || tally.failures.length > 0
  // In a folder with a failure, an entry that looks extra may belong to an entry that failed.
  if (cursor === null && job.kind === 'SYNC' && job.deleteExtra && !hasFailed) {
    found.push({ ...entry, state: 'EXTRA', cursor: null })
  }
  // Copies from a folder that has been listed can still be undone, and their sources can still be deleted.
  const isListed = (job.kind === 'MOVE' && !job.dryRun) || keepsAllOrNone(job)
  const end = isListed ? ({ kind: 'listed' } as const) : ({ kind: 'done' } as const)
  const following = cursor === null ? end : ({ kind: 'page', cursor } as const)
  await followMoves(run, tally.moved)
  // The failure is perhaps not stored yet, so another run must not take this page for complete.
  const next = isCut ? ({ kind: 'page', cursor: at.cursor } as const) : following
  await commitStep(run.db, run, entry, { next, found, done: tally })
  return { cursor, hasFailed }
}

/** Returns the folder at the target if the child is a folder whose content is to follow. */
async function transferChild(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  { from, to, names }: Folder,
  { child, isRetry }: { child: CheckedEntry; isRetry: boolean },
) {
  const [source, target] = [from.child(child.name), to.child(child.name)]
  const earlier = earlierOf(run, entry, entry.isStarted || isRetry)
  if (isRetry && !(await statUnlessMoved(run, source, target, earlier)))
    return countMoved(run, tally, child, { from: source, to: target })
  const existing = isRetry ? await statOrNull(target, run.signal) : await names.find(child.name)
  if (!existing && run.job.kind === 'MOVE' && !run.job.dryRun && !keepsAllOrNone(run.job)) {
    const moved = await unlessTaken(() =>
      writable(source).moveTo(target, run.signal, { overwrite: false, seen: child }),
    )
    if (moved !== null && moved !== taken) return countMoved(run, tally, child, { from: source, to: target })
  }
  if (child.kind === 'file') {
    await transferFile(run, tally, { from: source, entry: child, to: target, existing, earlier })
    return null
  }
  requireOutside(child, source, run.targetFolders)
  return openFolder(run, { source: child, folder: target, existing, earlier, isMerged: false })
}

/**
 * Returns where a source goes in the target folder, under its own name or that of the target. Without a name, the root of a
 * provider goes to the target folder itself.
 */
export function targetPathOf(source: StoragePath, target: { path: string; name?: string | null | undefined }): string {
  const folder = parsePath(target.path)
  const name = target.name ?? nameOf(source)
  return name === '' ? formatPath(folder) : childPath(folder, name)
}

interface BatchFolders {
  from: ReadLocation
  to: WriteLocation
  /** The names that the target has. */
  names: FolderNames
}

/** Files that are copied together. A copy is null for a file that has to be copied by itself. */
interface Batch {
  files: readonly CheckedEntry[]
  copies: Promise<readonly (CheckedEntry | null)[]>
}

/**
 * Starts the copies of the small files of one page whose names are free at the target, where the back end is faster if it copies them
 * together.
 */
function startBatchCopies(run: JobRun, { from, to, names }: BatchFolders, entries: readonly CheckedEntry[]): Batch[] {
  const { job } = run
  if (job.kind === 'MOVE' || job.dryRun || !to.canCopySmallFrom(from)) return []
  const smallFiles = entries.filter(({ name, size }) => size !== null && size <= smallBytes && names.isFree(name))
  const batches: Batch[] = []
  for (let start = 0; start < smallFiles.length; start += filesPerBatch) {
    const files = smallFiles.slice(start, start + filesPerBatch)
    const copies = copyTogether(
      run,
      from,
      to,
      files.map(({ name }) => name),
    )
    batches.push({ files, copies })
  }
  return batches
}

/** Compares a copy with its source, and counts it. @throws BACK_END_FAULT if they differ */
async function finishCopy(
  run: JobRun,
  tally: Tally,
  { from, to }: BatchFolders,
  file: CheckedEntry,
  copy: CheckedEntry,
): Promise<void> {
  const [source, target] = [from.child(file.name), to.child(file.name)]
  await requireCopied(source, file, target, copy, { isDeletable: true, signal: run.signal })
  if (keepsAllOrNone(run.job)) tally.copied.push(copiedEntry(source, target, { seen: file, copy }))
  tally.add(file.size)
}

/** A batch counts as one file of the limits, because the back end copies one file of it after the other. */
function copyTogether(
  run: JobRun,
  from: ReadLocation,
  to: WriteLocation,
  names: readonly string[],
): Promise<readonly (CheckedEntry | null)[]> {
  return run.limits.run([from.providerId, to.providerId], async () => {
    run.signal.throwIfAborted()
    return isPointless(run) ? [] : ((await to.copySmallFrom(from, names, run.signal)) ?? [])
  })
}

// Starts the work on a source as the job names it.

interface JobSource {
  from: ReadLocation
  source: CheckedEntry
  to: WriteLocation
  earlier: Earlier | null
  /** False for an entry below a source of the job, which keeps its name. */
  mayRename: boolean
}

/** Moves in one step, or copies a file, or returns the folder at the target whose content is to follow. */
async function transferSource(run: JobRun, tally: Tally, given: JobSource): Promise<TargetFolder | null> {
  const { from, source, to, mayRename } = given
  requireOutsideItself(run, given)
  if (source.kind === 'directory') requireOutside(source, from, run.targetFolders)
  const isRenamed = mayRename && run.job.conflict === 'RENAME' && run.job.kind !== 'SYNC' && !isContent(run, from)
  const seed = `${run.job.id}/${from.providerId}/${from.path}`
  for (const path of isRenamed ? candidates(to.path, source.kind, { seed }) : [to.path]) {
    const done = await transferTo(run, tally, given, run.target?.at(path) ?? to)
    if (done !== taken) return done
    if (!isRenamed) break
  }
  throw nameTaken(to.path)
}

async function transferTo(
  run: JobRun,
  tally: Tally,
  { from, source, earlier }: JobSource,
  to: WriteLocation,
): Promise<TargetFolder | null | typeof taken> {
  const { job, signal } = run
  const existing = await statOrNull(to, signal)
  if (!existing && job.kind === 'MOVE' && !job.dryRun) {
    const moved = await unlessTaken(() => writable(from).moveTo(to, signal, { overwrite: false, seen: source }))
    if (moved === taken) return taken
    if (moved) return countMoved(run, tally, source, { from, to })
  }
  return unlessTaken(async () => {
    const isMerged = isContent(run, from)
    if (source.kind === 'directory') return openFolder(run, { source, folder: to, existing, earlier, isMerged })
    await run.limits.run([from.providerId, to.providerId], () =>
      transferFile(run, tally, { from, entry: source, to, existing, earlier }),
    )
    return null
  })
}

/** Returns true if the job transfers the entries of a provider's root into the target instead of creating a folder for them. */
function isContent({ job }: JobRun, from: ReadLocation): boolean {
  return from.path === root && job.target?.name === undefined
}

/** A folder that is moved in one step counts as one file, because counting what is in it would take longer than moving it. */
function countMoved({ progress }: JobRun, tally: Tally, { kind, size }: CheckedEntry, move: EntryMove): null {
  tally.moved.push({ ...move, doneAt: performance.now() })
  if (kind === 'directory') progress.forgetTotals()
  tally.add(size)
  return null
}

/** @throws INTO_ITSELF, NOT_A_FOLDER, ALREADY_EXISTS */
function requireOutsideItself({ job }: JobRun, { from, source, to }: JobSource): void {
  if (from.providerId !== to.providerId) return
  if (job.kind === 'SYNC' && isWithin(from.path, to.path)) {
    throw new AppError('INTO_ITSELF', `"${formatPath(from.path)}" lies in the folder that would become equal to it.`)
  }
  if (!isWithin(to.path, from.path)) return
  if (from.path === to.path) {
    if (job.conflict === 'RENAME') return
    throw new AppError('ALREADY_EXISTS', `"${formatPath(from.path)}" is in this folder already.`)
  }
  if (source.kind === 'file') throw new AppError('NOT_A_FOLDER', `"${nameOf(from.path)}" is a file.`)
  throw new AppError('INTO_ITSELF', `The folder "${nameOf(from.path)}" cannot go into itself.`)
}

/** Deletes trees: the sources of a DELETE, the folders that a MOVE leaves empty, and what only the target of a SYNC has. */
import { childOf, isWithin, parsePath } from '../../auth/path.ts'
import {
  commitStep,
  deepestListed,
  findFoldersLeft,
  finishEntries,
  type JobEntry,
  type NewJobEntry,
} from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { isMissing } from '../files/conflict.ts'
import { deleteFile, deleteIfEmpty } from '../files/copying.ts'
import { CursorCheck, children, deleteTree, requireDepth } from '../files/tree.ts'
import { FolderNames, PageReader } from './folders.ts'
import {
  childPath,
  followMoves,
  isPointless,
  type JobRun,
  sourceAt,
  type Tally,
  targetAt,
  withTally,
  writable,
} from './job-run.ts'

/** The number of folders that are deleted in one step of a job. */
const foldersPerStep = 500

/** Moves an entry with everything below it to the trash. If the provider has none, deletes it, and keeps versions of its files. */
export async function removeTree(
  run: JobRun,
  tally: Tally,
  location: WriteLocation,
  entry: CheckedEntry,
): Promise<void> {
  const { job, signal } = run
  if (!job.dryRun && !(await isTrashed(run, location, entry))) {
    const keeps = !job.permanent && (await keepsVersions(location))
    if (entry.kind === 'directory') await deleteTree(location, signal, keeps ? deleteFile : null)
    else await (keeps ? deleteFile(location, entry, signal) : location.delete(signal, entry))
  }
  tally.deleted += 1
}

export async function keepsVersions(location: WriteLocation): Promise<boolean> {
  return (await location.versionTraits()).count > 0
}

async function isTrashed({ job, trash, signal }: JobRun, location: WriteLocation, entry: CheckedEntry) {
  return !job.permanent && (await trash.put(location, entry, { jobId: job.id, signal })) !== 'OFF'
}

/**
 * Deletes a source that is a file, or starts to delete the tree of a folder. It also deletes single files that failed
 * before.
 */
export async function removeOne(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    const found: NewJobEntry[] = []
    await tally.attempt(run, entry, async () => {
      const location = writable(sourceAt(run, entry))
      const source = await location.stat(run.signal).catch(error => {
        // An interrupted run may have deleted it.
        if (entry.isStarted && isMissing(error)) return null
        throw error
      })
      const isOneStep =
        !source ||
        source.kind === 'file' ||
        (!run.job.permanent && (await run.trash.isOn(location))) ||
        (location.canDeleteTree && (run.job.permanent || !(await keepsVersions(location))))
      if (!isOneStep) found.push({ ...entry, state: 'FOLDER' })
      else if (source) await removeTree(run, tally, location, source)
      else tally.deleted += 1
    })
    const next = { kind: 'done' } as const
    await commitStep(run.db, run, entry, { next, found, done: tally })
  })
}

/** Deletes the files of a folder page by page. Its folders become entries of the job. */
export async function removeFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const pages = new PageReader(entry)
  let { cursor } = entry
  do {
    cursor = await withTally(run, tally => removePage(run, tally, entry, { cursor, pages }))
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null && !isPointless(run))
}

async function removePage(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  { cursor, pages }: { cursor: string | null; pages: PageReader },
): Promise<string | null> {
  const found: NewJobEntry[] = []
  const page = await tally.attempt(run, { ...entry, cursor }, async isRetry => {
    requireDepth(entry.depth)
    return pages.read(sourceAt(run, entry), { cursor, isRetry }, run.signal)
  })
  await allDone((page?.entries ?? []).map(child => removeChild(run, tally, entry, { child, found })))
  const next = page?.cursor ?? null
  const continued = next === null ? ({ kind: 'listed' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(run.db, run, entry, { next: continued, found, done: tally })
  return next
}

/** Deletes a file, or adds a folder to `found`. */
async function removeChild(
  run: JobRun,
  tally: Tally,
  { providerId, path: folder, depth }: JobEntry,
  { child, found }: { child: CheckedEntry; found: NewJobEntry[] },
): Promise<void> {
  const path = childPath(parsePath(folder), child.name)
  const at = { providerId, path, targetPath: null, depth: depth + 1, isNewTarget: false }
  if (child.kind === 'directory') found.push({ ...at, state: 'FOLDER' })
  else {
    await tally.attempt(run, { ...at, state: 'FILE' }, () =>
      run.limits.run([providerId], () => removeTree(run, tally, writable(sourceAt(run, at)), child)),
    )
  }
}

/** Deletes the folders whose content a MOVE or a DELETE has worked on, the deepest first. */
export async function removeListed(run: JobRun): Promise<void> {
  for (;;) {
    const entries = await deepestListed(run.db, run.job.id, foldersPerStep)
    const level = entries.filter(({ depth }) => depth === entries[0]?.depth)
    if (level.length === 0) return
    await withTally(run, tally => removeLevel(run, tally, level))
    run.turn.throwIfAborted()
  }
}

async function removeLevel(run: JobRun, tally: Tally, level: readonly JobEntry[]): Promise<void> {
  const notEmpty: JobEntry[] = []
  await allDone(
    level.map(entry =>
      tally.attempt(run, entry, async () => {
        const folder = writable(sourceAt(run, entry))
        const isDeleted =
          run.job.dryRun || (await run.limits.run([entry.providerId], () => deleteOnceEmpty(folder, run.signal)))
        if (!isDeleted) notEmpty.push(entry)
        else if (run.job.kind === 'DELETE') tally.deleted += 1
        else tally.moved.push({ from: folder, to: targetAt(run, entry.targetPath), doneAt: performance.now() })
      }),
    ),
  )
  // A run that was killed in the middle of a folder has moved files whose versions are still there.
  await followMoves(run, run.job.dryRun ? [] : tally.moved, run.job.startedAt)
  const ids = (entries: readonly JobEntry[]) => entries.map(({ id }) => id)
  const kept = await findFoldersLeft(run.db, run.job.id, ids(notEmpty))
  for (const entry of notEmpty.filter(({ id }) => !kept.has(id))) {
    const message = `"${entry.path}" is not empty: it contains an entry that was added meanwhile, or one that the back end does not list.`
    tally.failures.push({ ...entry, state: 'FOLDER', cursor: null, reason: 'NOT_EMPTY', message })
  }
  await finishEntries(run.db, run, ids(level), { kept: [...kept], done: tally })
}

/** A folder that is missing was deleted by an interrupted run. */
async function deleteOnceEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  return deleteIfEmpty(folder, signal).catch(error => {
    if (isMissing(error)) return true
    throw error
  })
}

// Deletes what a SYNC finds at the target but not in the source.

type TargetPage = Awaited<ReturnType<WriteLocation['list']>>

/** @param entry a folder that was compared with its source without a failure */
export async function removeExtra(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    // If the source is missing, everything would be extra.
    const names = await tally.attempt(run, entry, () =>
      FolderNames.load(sourceAt(run, entry), { isEmpty: false, isRequired: true, signal: run.signal }),
    )
    if (names) await removeExtraOf(run, tally, entry, names)
    await commitStep(run.db, run, entry, { next: { kind: 'done' }, found: [], done: tally })
  })
}

async function removeExtraOf(run: JobRun, tally: Tally, entry: JobEntry, names: FolderNames): Promise<void> {
  const cursors = new CursorCheck()
  let cursor: string | null = null
  do {
    const page: TargetPage | undefined = await tally.attempt(run, entry, async () => {
      const listed = await listTarget(run, entry, cursor)
      cursors.check(listed.cursor)
      return listed
    })
    await allDone((page?.entries ?? []).map(each => removeIfExtra(run, tally, entry, { names, each })))
    cursor = page?.cursor ?? null
  } while (cursor !== null)
}

async function listTarget(run: JobRun, entry: JobEntry, cursor: string | null): Promise<TargetPage> {
  const page = { cursor, limit: maxPageSize }
  return targetAt(run, entry.targetPath)
    .list(run.signal, page)
    .catch(error => {
      // A dry run has not created the folder.
      if (run.job.dryRun && isMissing(error)) return { entries: [], cursor: null }
      throw error
    })
}

async function removeIfExtra(
  run: JobRun,
  tally: Tally,
  { id: _own, ...entry }: JobEntry,
  { names, each }: { names: FolderNames; each: CheckedEntry },
): Promise<void> {
  const to = targetAt(run, entry.targetPath)
  const failing = { ...entry, path: childPath(sourceAt(run, entry).path, each.name) }
  await tally.attempt(run, failing, () =>
    run.limits.run([to.providerId], async () => {
      if (await names.find(each.name)) return
      const location = to.child(each.name)
      if (isSource(run, to, each) || (each.kind === 'directory' && (await containsSource(run, location, 0)))) {
        throw new AppError('INTO_ITSELF', 'A source of the job is in this folder of the target, so it is not deleted.')
      }
      await removeTree(run, tally, location, each)
    }),
  )
}

/** A source can be the root of a provider that lies anywhere below the folder, which only ids show. */
async function containsSource(run: JobRun, folder: WriteLocation, depth: number): Promise<boolean> {
  requireDepth(depth)
  for await (const entry of children(folder, run.signal)) {
    if (isSource(run, folder, entry)) return true
    if (entry.kind === 'directory' && (await containsSource(run, folder.child(entry.name), depth + 1))) return true
  }
  return false
}

/** Returns whether the entry is a source of the job or contains one, even through another provider. */
function isSource({ sources, sourceFolders }: JobRun, folder: WriteLocation, entry: CheckedEntry): boolean {
  if (entry.fileId !== null && sourceFolders.has(entry.fileId)) return true
  const path = childOf(folder.path, entry.name)
  return sources.some(source => source.providerId === folder.providerId && isWithin(source.path, path))
}

/** Deletes trees: the sources of a DELETE, and the folders that a MOVE leaves empty. */
import { parsePath } from '../../auth/path.ts'
import {
  commitStep,
  deepestListed,
  finishEntries,
  foldersWithRest,
  type JobEntry,
  type NewJobEntry,
} from '../../db/jobs/entries.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { isMissing } from '../files/conflict.ts'
import { deleteIfEmpty } from '../files/copied.ts'
import { deleteTree, requireDepth } from '../files/tree.ts'
import {
  childPath,
  isPointless,
  type JobRun,
  PageReader,
  sourceAt,
  type Tally,
  withTally,
  writable,
} from './job-run.ts'
import { allDone } from './limiter.ts'

/** The number of folders that are deleted in one step of a job. */
const foldersPerStep = 500

/** Moves an entry with everything below it to the trash, or deletes it if the provider has none. */
export async function removeTree(
  run: JobRun,
  tally: Tally,
  location: WriteLocation,
  entry: CheckedEntry,
): Promise<void> {
  if (!run.job.dryRun && !(await isTrashed(run, location, entry))) {
    if (entry.kind === 'directory') await deleteTree(location, run.signal)
    else await location.delete(run.signal, entry)
  }
  tally.deleted += 1
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
      const isWhole =
        !source ||
        source.kind === 'file' ||
        location.canDeleteTree ||
        (!run.job.permanent && (await run.trash.isOn(location)))
      if (!isWhole) found.push({ ...entry, state: 'FOLDER' })
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
  const place = { providerId, path, targetPath: null, depth: depth + 1, isNewTarget: false }
  if (child.kind === 'directory') found.push({ ...place, state: 'FOLDER' })
  else {
    await tally.attempt(run, { ...place, state: 'FILE' }, () =>
      run.limits.run([providerId], () => removeTree(run, tally, writable(sourceAt(run, place)), child)),
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
      }),
    ),
  )
  const ids = (entries: readonly JobEntry[]) => entries.map(({ id }) => id)
  const kept = await foldersWithRest(run.db, run.job.id, ids(notEmpty))
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

/** Deletes trees: the sources of a DELETE, and what a SYNC deletes at the target. */
import { formatPath } from '../../auth/path.ts'
import { commitStep, deepestListed, finishEntries, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { deleteIfEmpty } from '../files/copied.ts'
import { deleteTree, requireDepth } from '../files/tree.ts'
import { type JobRun, sourceAt, Tally, writable } from './job-run.ts'

/** The number of folders that are deleted in one step of a job. */
const foldersPerStep = 500

/** Deletes an entry and everything below it, without storing the progress. */
export async function removeTree(
  run: JobRun,
  tally: Tally,
  location: WriteLocation,
  entry: CheckedEntry,
): Promise<void> {
  if (!run.job.dryRun) {
    if (entry.kind === 'directory') await deleteTree(location, run.signal)
    else await location.delete(run.signal)
  }
  tally.deleted += 1
}

/** Deletes a source that is a file, or starts to delete the tree of a source that is a folder. */
export async function removeSource(run: JobRun, entry: JobEntry): Promise<void> {
  const { job, signal } = run
  const location = writable(sourceAt(run, entry))
  const tally = new Tally()
  const found: NewJobEntry[] = []
  await tally.attempt(run, location, null, async () => {
    const source = await location.stat(signal)
    const whole = source.kind === 'directory' && !job.dryRun ? location.deleteTree(signal) : null
    if (source.kind === 'directory' && !whole) {
      found.push(folderEntry(location, 0))
      return
    }
    await (whole ?? removeTree(run, tally, location, source))
    if (whole) tally.deleted += 1
  })
  await commitStep(run.db, { id: job.id, lease: run.lease }, entry, { next: { kind: 'delete' }, found, done: tally })
}

/** Deletes the files of a folder page by page. Its folders become entries of the job. */
export async function removeFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const { job, signal } = run
  const folder = writable(sourceAt(run, entry))
  requireDepth(entry.depth)
  let cursor = entry.cursor
  do {
    const tally = new Tally()
    const found: NewJobEntry[] = []
    await tally.attempt(run, folder, null, async () => {
      const page = await folder.list(signal, { cursor, limit: maxPageSize })
      await Promise.all(
        page.entries.map(async child => {
          const location = folder.child(child.name)
          if (child.kind === 'directory') found.push(folderEntry(location, entry.depth + 1))
          else
            await tally.attempt(run, location, null, () => run.files.run(() => removeTree(run, tally, location, child)))
        }),
      )
      cursor = page.cursor
    })
    if (tally.failures.some(({ path }) => path === formatPath(folder.path))) cursor = null
    const next = cursor === null ? ({ kind: 'listed' } as const) : ({ kind: 'page', cursor } as const)
    await commitStep(run.db, { id: job.id, lease: run.lease }, entry, { next, found, done: tally })
  } while (cursor !== null)
}

/** Deletes the folders whose content a MOVE or a DELETE has worked on, the deepest first. Those that are not empty stay. */
export async function removeListed(run: JobRun): Promise<void> {
  const { db, job, lease, signal } = run
  for (;;) {
    const entries = await deepestListed(db, job.id, foldersPerStep)
    const depth = entries[0]?.depth
    if (depth === undefined) return
    const level = entries.filter(entry => entry.depth === depth)
    const tally = new Tally()
    await Promise.all(
      level.map(async entry => {
        const folder = writable(sourceAt(run, entry))
        await tally.attempt(run, folder, null, async () => {
          if (job.dryRun || !(await run.files.run(() => deleteIfEmpty(folder, signal)))) return
          if (job.kind === 'DELETE') tally.deleted += 1
        })
      }),
    )
    await finishEntries(
      db,
      { id: job.id, lease },
      level.map(({ id }) => id),
      tally,
    )
  }
}

function folderEntry(location: WriteLocation, depth: number): NewJobEntry {
  const { providerId, path } = location
  return { state: 'FOLDER', providerId, path: formatPath(path), targetPath: null, depth, isNewTarget: false }
}

/** Ends an atomic COPY or MOVE: keeps all of its copies, or undoes them if something has failed. */
import { deepestListed, deleteEntries, finishEntries, type JobEntry } from '../../db/jobs/entries.ts'
import { decideOutcome, forgetCounts, listKeptFolders, listNewFolders, nextCopied } from '../../db/jobs/outcome.ts'
import { AppError } from '../../errors.ts'
import { statOrNull } from '../files/conflict.ts'
import { deleteIfEmpty, deleteUnchanged } from '../files/copied.ts'
import { deleteSource } from '../files/moving.ts'
import { versionsOf } from './copied-entry.ts'
import { type JobRun, sourceAt, type Tally, targetAt, withTally, writable } from './job-run.ts'
import { allDone } from './limiter.ts'
import { removeListed } from './remove-tree.ts'

/** The number of entries in one step. */
const batchSize = 500

/** @throws LeaseLost, the reason of the signal or of the end of the turn, and errors of the database */
export async function settle(run: JobRun): Promise<void> {
  const outcome = await decideOutcome(run.db, run)
  if (outcome === 'UNDO') await undo(run)
  else if (run.job.kind === 'MOVE') await deleteSources(run)
  else await deleteEntries(run.db, run.job.id)
}

async function deleteSources(run: JobRun): Promise<void> {
  await eachCopied(run, (tally, entry) =>
    tally.attempt(run, entry, () =>
      run.limits.run([entry.providerId], () =>
        deleteSource(writable(sourceAt(run, entry)), versionsOf(entry.copied), run.signal),
      ),
    ),
  )
  await listKeptFolders(run.db, run.job.id)
  await removeListed(run)
  // If source and target were one empty folder without an id to show it, it has just been deleted.
  if (run.target && !(await statOrNull(run.target, run.signal)))
    await run.target.mkdir(run.signal, { exclusive: false })
}

/** Deletes what the job has created, except what others added or changed meanwhile. */
async function undo(run: JobRun): Promise<void> {
  await listNewFolders(run.db, run.job.id)
  await eachCopied(run, (_tally, entry) =>
    undoOne(run, entry, () =>
      deleteUnchanged(targetAt(run, entry.targetPath), versionsOf(entry.copied).copy, run.signal),
    ),
  )
  for (;;) {
    const folders = await deepestListed(run.db, run.job.id, batchSize)
    const level = folders.filter(({ depth }) => depth === folders[0]?.depth)
    if (level.length === 0) break
    await finish(run, level, (_tally, entry) =>
      undoOne(run, entry, async () => {
        if (entry.isNewTarget) await deleteIfEmpty(targetAt(run, entry.targetPath), run.signal)
      }),
    )
    run.turn.throwIfAborted()
  }
  await forgetCounts(run.db, run)
}

/** The failure of the job matters more than an error of undoing it. */
async function undoOne(run: JobRun, entry: JobEntry, work: () => Promise<void>): Promise<void> {
  try {
    await run.limits.run([targetAt(run, entry.targetPath).providerId], work)
  } catch (error) {
    run.signal.throwIfAborted()
    if (!(error instanceof AppError)) run.onError(error)
  }
}

async function eachCopied(run: JobRun, work: (tally: Tally, entry: JobEntry) => Promise<unknown>): Promise<void> {
  for (;;) {
    const entries = await nextCopied(run.db, run.job.id, batchSize)
    if (entries.length === 0) return
    await finish(run, entries, work)
    run.turn.throwIfAborted()
  }
}

/** Works on several entries at once. Those that do not fail are done. */
async function finish(
  run: JobRun,
  entries: readonly JobEntry[],
  work: (tally: Tally, entry: JobEntry) => Promise<unknown>,
): Promise<void> {
  await withTally(run, async tally => {
    await allDone(entries.map(entry => work(tally, entry)))
    const ids = entries.map(({ id }) => id)
    await finishEntries(run.db, run, ids, { kept: [], done: tally })
  })
}

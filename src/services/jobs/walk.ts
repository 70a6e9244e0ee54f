/** Works through the entries of a job, several at once, with bounded memory: the entries wait in the database. */
import { type JobEntry, takeEntries } from '../../db/jobs/entries.ts'
import type { JobRun } from './job-run.ts'
import { Limiter } from './limiter.ts'
import { removeFolder, removeListed, removeSource } from './remove-tree.ts'
import { transferFolder, transferSource } from './transfer-tree.ts'

/** The number of entries that are worked on at once. Each needs memory for up to one page of a listing. */
const concurrency = 8
/** The number of entries that are read from the database at once. */
const batchSize = 64

/** @throws LeaseLost, the reason of the signal, and errors of the database */
export async function walk(run: JobRun): Promise<void> {
  const { db, job, signal } = run
  const limiter = new Limiter(concurrency)
  const work = workOf(run)
  let last = '0'
  let active = new Set<Promise<void>>()
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  for (;;) {
    signal.throwIfAborted()
    const batch = await takeEntries(db, job.id, last, batchSize)
    for (const entry of batch) {
      const done = limiter
        .run(() => work(entry))
        .catch(failed.reject)
        .finally(() => active.delete(done))
      active.add(done)
    }
    last = batch.at(-1)?.id ?? last
    if (batch.length === 0 && active.size === 0) break
    // New entries appear when one is done. Never more than two batches wait in memory.
    const isEnough = active.size < batchSize ? Promise.race(active) : Promise.all(active)
    await Promise.race([isEnough, failed.promise])
  }
  active = new Set()
  await removeListed(run)
}

function workOf(run: JobRun): (entry: JobEntry) => Promise<void> {
  const isDelete = run.job.kind === 'DELETE'
  const [source, folder] = isDelete ? [removeSource, removeFolder] : [transferSource, transferFolder]
  return async entry => {
    run.signal.throwIfAborted()
    await (entry.state === 'NEW' ? source(run, entry) : folder(run, entry))
  }
}

/**
 * Works through the entries of a job, several at once, with bounded memory: the entries wait in the database. Then keeps or undoes all
 * copies of an atomic job.
 */
import {
  decideOutcome,
  deepestListed,
  deleteEntries,
  finishEntries,
  forgetCounts,
  hasEntries,
  type JobEntry,
  listKeptFolders,
  listNewFolders,
  markStarted,
  nextCopied,
  nextEntries,
} from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import { statOrNull } from '../files/conflict.ts'
import { deleteIfEmpty, deleteSource, deleteUnchanged } from '../files/copying.ts'
import { checksumFile, checksumSource } from './checksum.ts'
import { keepFolder, keepOne } from './copies/keep.ts'
import { keepLostFiles } from './copies/lost.ts'
import { carryOutRepairs } from './copies/repair.ts'
import {
  isPointless,
  type JobRun,
  keepsAllOrNone,
  sourceAt,
  type Tally,
  targetAt,
  withTally,
  writable,
} from './job-run.ts'
import { removeExtra, removeFolder, removeListed, removeOne } from './remove.ts'
import { carryOutSteps, planChanges, planRestore } from './restore.ts'
import { transferFolder, transferOne } from './transfer.ts'
import { versionsOf } from './transfer-file.ts'
import { findMissing, verifyFolder, verifyOne } from './verify.ts'

/**
 * The number of entries that are worked on at once. Each needs memory for up to one page of a listing and 10,000 names
 * of its target.
 */
const concurrency = 8
/** The number of entries that are read from the database at once. */
const entriesPerRead = 64

/**
 * Resolves when everything is done, or when a failure has made the rest pointless. When it rejects, no work is left
 * running.
 * @throws LeaseLost, the reason of the signal or of the end of the turn, and errors of the database
 */
export async function walk(given: JobRun): Promise<void> {
  const stop = new AbortController()
  const run = { ...given, signal: AbortSignal.any([given.signal, stop.signal]) }
  const queue = new EntryQueue(run)
  const worker = async () => {
    for (;;) {
      const entry = isPointless(run) ? null : await queue.next()
      if (!entry) return
      try {
        await work(run, entry)
      } finally {
        queue.done()
      }
      if (isPointless(run)) queue.stop()
      run.turn.throwIfAborted()
    }
  }
  const workers = Array.from({ length: concurrency }, () =>
    worker().catch(error => {
      // At the end of a turn, the others end the steps that they are in.
      if (error !== run.turn.reason) stop.abort(error)
      queue.stop()
      throw error
    }),
  )
  const results = await Promise.allSettled(workers)
  const failed = results.find(result => result.status === 'rejected')
  // The first error is the reason: the others follow from it.
  if (failed) throw [given.signal, stop.signal].find(({ aborted }) => aborted)?.reason ?? run.turn.reason
  if (isPointless(run)) return
  if (run.job.kind === 'VERIFY') await findMissing(run)
  else if (run.job.kind === 'RESTORE') await carryOutSteps(run)
  else if (run.job.kind === 'KEEP_COPIES') await carryOutRepairs(run)
  else if (!keepsAllOrNone(run.job)) await removeListed(run)
  if (await isWorkLeft(run)) throw new Error(`The job ${run.job.id} ended before its work`)
}

/** An atomic job still has the entries that it is about to keep or undo. */
async function isWorkLeft({ db, job }: JobRun): Promise<boolean> {
  return keepsAllOrNone(job) ? (await nextEntries(db, job.id, '0', 1)).length > 0 : hasEntries(db, job.id)
}

async function work(run: JobRun, entry: JobEntry): Promise<void> {
  run.signal.throwIfAborted()
  await markStarted(run.db, run.job.id, entry)
  if (run.job.kind === 'VERIFY') return (entry.state === 'FOLDER' ? verifyFolder : verifyOne)(run, entry)
  if (run.job.kind === 'RESTORE') return (entry.state === 'FOLDER' ? planChanges : planRestore)(run, entry)
  if (run.job.kind === 'CHECKSUM') return (entry.state === 'FILE' ? checksumFile : checksumSource)(run, entry)
  if (run.job.kind === 'KEEP_COPIES') return keepCopies(run, entry)
  const isDelete = run.job.kind === 'DELETE'
  if (entry.state === 'EXTRA') await removeExtra(run, entry)
  else if (entry.state === 'FOLDER') await (isDelete ? removeFolder : transferFolder)(run, entry)
  else await (isDelete ? removeOne : transferOne)(run, entry)
}

function keepCopies(run: JobRun, entry: JobEntry): Promise<void> {
  if (entry.state === 'EXTRA') return keepLostFiles(run, entry)
  return (entry.state === 'FOLDER' ? keepFolder : keepOne)(run, entry)
}

/** Hands out the entries in the order of their ids. New ones appear while others are worked on. */
class EntryQueue {
  readonly #run: JobRun
  #entries: JobEntry[] = []
  #last = '0'
  #active = 0
  #isStopped = false
  #filling: Promise<void> | null = null
  #change = Promise.withResolvers<void>()

  constructor(run: JobRun) {
    this.#run = run
  }

  /** Resolves with null once there is nothing left to do. Call `done` after each entry. */
  async next(): Promise<JobEntry | null> {
    for (;;) {
      if (this.#isStopped) return null
      const entry = this.#entries.shift()
      if (entry) {
        this.#active += 1
        return entry
      }
      // Read this before the query, because work that is active now may add entries after it.
      const isIdle = this.#active === 0
      const changed = this.#change.promise
      const isShared = this.#filling !== null
      this.#filling ??= this.#fill()
      await this.#filling
      if (this.#entries.length > 0) continue
      if (!isIdle || this.#active > 0) await changed
      // A query that began earlier may have missed entries that were added since.
      else if (!isShared) return null
    }
  }

  done(): void {
    this.#active -= 1
    this.#notify()
  }

  stop(): void {
    this.#isStopped = true
    this.#notify()
  }

  async #fill(): Promise<void> {
    const { db, job } = this.#run
    try {
      const found = await nextEntries(db, job.id, this.#last, entriesPerRead)
      this.#entries.push(...found)
      this.#last = found.at(-1)?.id ?? this.#last
    } finally {
      this.#filling = null
    }
  }

  #notify(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }
}

// Ends an atomic COPY or MOVE: keeps all of its copies, or undoes them if something has failed.

/** The number of entries in one step. */
const entriesPerStep = 500

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
    const folders = await deepestListed(run.db, run.job.id, entriesPerStep)
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
    const entries = await nextCopied(run.db, run.job.id, entriesPerStep)
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

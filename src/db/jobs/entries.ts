/** The entries that a job still has to work on. Only the server that has the job's lease changes them. */
import { type Selectable, sql } from 'kysely'
import type { Database } from '../client.ts'
import type { JobEntryState, Schema } from '../schema.ts'
import { insertFailures, type NewFailure } from './failures.ts'

export interface JobEntry {
  id: string
  state: JobEntryState
  providerId: string
  path: string
  /** Null if there is no target: for DELETE, and for entries that are only deleted. */
  targetPath: string | null
  depth: number
  /** A run began to work on it and did not finish, so parts of it may exist at the target. */
  isStarted: boolean
  /** The job created the folder at the target, so nothing else is in it. */
  isNewTarget: boolean
  /** Something directly in the folder failed. */
  hasFailed: boolean
  /** The page of the listing that comes next; null is the first. */
  cursor: string | null
}

export type NewJobEntry = Pick<JobEntry, 'state' | 'providerId' | 'path' | 'targetPath' | 'depth' | 'isNewTarget'> & {
  isStarted?: boolean
}

/** The results of one step of a job, apart from its entries. */
export interface Done {
  files: number
  bytes: number
  skipped: number
  deleted: number
  failures: readonly NewFailure[]
}

/** A run of a job: the job and the lease of the server that runs it. */
export interface RunId {
  job: { id: string }
  /** The id of the lease. */
  lease: string
}

/** The maximum number of rows in one statement, so that it stays below PostgreSQL's limit of 65,535 parameters. */
const rowsPerInsert = 5000

export async function insertEntries(db: Database, jobId: string, entries: readonly NewJobEntry[]): Promise<void> {
  for (let start = 0; start < entries.length; start += rowsPerInsert) {
    await db
      .insertInto('job_entries')
      .values(
        entries.slice(start, start + rowsPerInsert).map(entry => ({
          job_id: jobId,
          state: entry.state,
          provider_id: entry.providerId,
          path: entry.path,
          target_path: entry.targetPath,
          depth: entry.depth,
          is_new_target: entry.isNewTarget,
          is_started: entry.isStarted ?? false,
        })),
      )
      .execute()
  }
}

/** Returns the next entries after the id `after`, in the order of their ids, except folders that only have to be deleted. */
export async function nextEntries(db: Database, jobId: string, after: string, limit: number): Promise<JobEntry[]> {
  const rows = await db
    .selectFrom('job_entries')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('id', '>', after)
    .where('state', '!=', 'LISTED')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toEntry)
}

/** Records that the work on an entry begins. */
export async function markStarted(db: Database, jobId: string, entry: JobEntry): Promise<void> {
  if (entry.isStarted) return
  await db
    .updateTable('job_entries')
    .set({ is_started: true })
    .where('job_id', '=', jobId)
    .where('id', '=', entry.id)
    .execute()
}

/** Returns listed folders, the deepest first. */
export async function deepestListed(db: Database, jobId: string, limit: number): Promise<JobEntry[]> {
  const rows = await db
    .selectFrom('job_entries')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('state', '=', 'LISTED')
    .orderBy('depth', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toEntry)
}

export async function hasEntries(db: Database, jobId: string): Promise<boolean> {
  const row = await db.selectFrom('job_entries').select('id').where('job_id', '=', jobId).limit(1).executeTakeFirst()
  return row !== undefined
}

export async function deleteEntries(db: Database, jobId: string): Promise<void> {
  await db.deleteFrom('job_entries').where('job_id', '=', jobId).execute()
}

/** The work that remains on an entry after a step. */
export type Next = { kind: 'done' } | { kind: 'page'; cursor: string } | { kind: 'listed' }

/**
 * Stores one step of a job in one transaction: what it did, the entries that it found, and how the entry continues.
 * @throws LeaseLost
 */
export async function commitStep(
  db: Database,
  run: RunId,
  entry: JobEntry,
  { next, found, done }: { next: Next; found: readonly NewJobEntry[]; done: Done },
): Promise<void> {
  await db.transaction().execute(async tx => {
    await countDone(tx, run, done)
    await insertEntries(tx, run.job.id, found)
    if (next.kind === 'done') {
      await tx.deleteFrom('job_entries').where('job_id', '=', run.job.id).where('id', '=', entry.id).execute()
      return
    }
    await tx
      .updateTable('job_entries')
      .set({
        ...(next.kind === 'page' ? { cursor: next.cursor } : { state: 'LISTED' as const }),
        ...(done.failures.length > 0 && { has_failed: true }),
      })
      .where('job_id', '=', run.job.id)
      .where('id', '=', entry.id)
      .execute()
  })
}

/** Deletes entries that are finished, and counts what was done. @throws LeaseLost */
export async function finishEntries(db: Database, run: RunId, ids: readonly string[], done: Done): Promise<void> {
  await db.transaction().execute(async tx => {
    await countDone(tx, run, done)
    await tx.deleteFrom('job_entries').where('job_id', '=', run.job.id).where('id', 'in', ids).execute()
  })
}

/** Another server has the job now. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
}

async function countDone(
  db: Database,
  { job: { id }, lease }: RunId,
  { files, bytes, skipped, deleted, failures }: Done,
): Promise<void> {
  const { rows } = await sql`
    update jobs set files = files + ${files}, bytes = bytes + ${bytes}, skipped = skipped + ${skipped},
      deleted = deleted + ${deleted}, failed = failed + ${failures.length},
      pending_files = greatest(0, pending_files - ${files}), pending_bytes = greatest(0, pending_bytes - ${bytes})
    where id = ${id} and lease_id = ${lease} returning id`.execute(db)
  if (rows.length === 0) throw new LeaseLost(`Another server runs the job ${id}`)
  await insertFailures(db, id, failures)
}

function toEntry(row: Selectable<Schema['job_entries']>): JobEntry {
  return {
    id: row.id,
    state: row.state,
    providerId: row.provider_id,
    path: row.path,
    targetPath: row.target_path,
    depth: row.depth,
    isStarted: row.is_started,
    isNewTarget: row.is_new_target,
    hasFailed: row.has_failed,
    cursor: row.cursor,
  }
}

/** The entries that a job still has to work on. Only the server that has the job's lease changes them. */
import { type Selectable, sql } from 'kysely'
import type { Database } from '../client.ts'
import type { Schema } from '../schema.ts'
import { insertFailures, type NewFailure } from './failures.ts'

export interface JobEntry {
  id: string
  state: 'NEW' | 'FOLDER' | 'LISTED'
  providerId: string
  path: string
  /** Null for DELETE. */
  targetPath: string | null
  depth: number
  /** A server began to work on it, so parts of it may exist at the target. */
  isStarted: boolean
  /** The job created the folder at the target, so nothing else is in it. */
  isNewTarget: boolean
  /** The page of the listing that comes next; null is the first. */
  cursor: string | null
}

export type NewJobEntry = Omit<JobEntry, 'id' | 'isStarted' | 'cursor'>

/** The results of one step of a job, apart from its entries. */
export interface Done {
  files: number
  bytes: number
  skipped: number
  deleted: number
  failures: readonly NewFailure[]
}

export async function insertEntries(db: Database, jobId: string, entries: readonly NewJobEntry[]): Promise<void> {
  if (entries.length === 0) return
  await db
    .insertInto('job_entries')
    .values(
      entries.map(entry => ({
        job_id: jobId,
        state: entry.state,
        provider_id: entry.providerId,
        path: entry.path,
        target_path: entry.targetPath,
        depth: entry.depth,
        is_new_target: entry.isNewTarget,
      })),
    )
    .execute()
}

/**
 * Returns the next entries after `after` and marks them as started. `isStarted` says whether they were started before.
 */
export async function takeEntries(db: Database, jobId: string, after: string, limit: number): Promise<JobEntry[]> {
  const { rows } = await sql<Selectable<Schema['job_entries']>>`
    with taken as materialized (
      select * from job_entries
      where job_id = ${jobId} and id > ${after}::bigint and state in ('NEW', 'FOLDER')
      order by id limit ${limit}
    ), marked as (
      update job_entries set is_started = true
      where job_id = ${jobId} and id in (select id from taken where not is_started)
    )
    select * from taken order by id`.execute(db)
  return rows.map(toEntry)
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

export type Step = { kind: 'delete' } | { kind: 'page'; cursor: string } | { kind: 'listed' }

/**
 * Stores one step of a job in one transaction: what it did, the folders that it found, and how the entry continues.
 * @throws LeaseLost
 */
export async function commitStep(
  db: Database,
  job: { id: string; lease: string },
  entry: JobEntry,
  { next, found, done }: { next: Step; found: readonly NewJobEntry[]; done: Done },
): Promise<void> {
  await db.transaction().execute(async tx => {
    await countDone(tx, job, done)
    await insertEntries(tx, job.id, found)
    if (next.kind === 'delete') {
      await tx.deleteFrom('job_entries').where('job_id', '=', job.id).where('id', '=', entry.id).execute()
      return
    }
    await tx
      .updateTable('job_entries')
      .set(next.kind === 'page' ? { cursor: next.cursor } : { state: 'LISTED' })
      .where('job_id', '=', job.id)
      .where('id', '=', entry.id)
      .execute()
  })
}

/** Deletes entries that are finished, and counts what was done. @throws LeaseLost */
export async function finishEntries(
  db: Database,
  job: { id: string; lease: string },
  ids: readonly string[],
  done: Done,
): Promise<void> {
  await db.transaction().execute(async tx => {
    await countDone(tx, job, done)
    await tx.deleteFrom('job_entries').where('job_id', '=', job.id).where('id', 'in', ids).execute()
  })
}

/** Another server has the job now. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
}

async function countDone(
  db: Database,
  { id, lease }: { id: string; lease: string },
  { files, bytes, skipped, deleted, failures }: Done,
): Promise<void> {
  const { rows } = await sql`
    update jobs set files = files + ${files}, bytes = bytes + ${bytes}, skipped = skipped + ${skipped},
      deleted = deleted + ${deleted}, failed = failed + ${failures.length}
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
    cursor: row.cursor,
  }
}

/** The entries that a job still has to work on. Only the server that has the job's lease changes them. */
import { type Selectable, sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Database } from '../client.ts'
import type { JobEntryState, Schema, StoredVersion } from '../schema.ts'

export interface NewJobEntry {
  state: JobEntryState
  providerId: string
  /** Formatted. The path of an entry that failed may be longer than any valid path. */
  path: string
  /** Null if there is no target: for DELETE, and for entries that are only deleted. */
  targetPath: string | null
  depth: number
  /** The job created the folder at the target, or the folder that the target path of another entry lies in. */
  isNewTarget: boolean
  /** A run began to work on it and did not finish, so parts of it may exist at the target. */
  isStarted?: boolean
  /** The page of the listing that comes next; null is the first. */
  cursor?: string | null
  /** Null unless an atomic job has copied the file. */
  copied?: CopiedVersions | null
}

/** The source of a copied file as it was before the copy, and the copy. */
export interface CopiedVersions {
  seen: StoredVersion
  copy: StoredVersion
}

export interface JobEntry extends Required<NewJobEntry> {
  id: string
  /** Something directly in the folder failed. */
  hasFailed: boolean
}

/** An entry that failed, with everything that a retry needs. */
export interface NewFailure extends NewJobEntry {
  /** Undefined unless the job has stored the entry before. */
  id?: string
  reason: Reason
  message: string
}

/** The results of one step of a job, apart from its entries. */
export interface Done {
  files: number
  bytes: number
  skipped: number
  deleted: number
  failures: readonly NewFailure[]
  /** The files that an atomic job has copied. */
  copied: readonly NewJobEntry[]
}

/** A run of a job: the job and the lease of the server that runs it. */
export interface RunId {
  job: { id: string }
  /** The id of the lease. */
  lease: string
}

/** The maximum number of rows in one statement, so that it stays below PostgreSQL's limit of 65,535 parameters. */
const rowsPerInsert = 5000

export async function insertEntries(
  db: Database,
  jobId: string,
  entries: readonly (NewJobEntry & Partial<NewFailure>)[],
): Promise<void> {
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
          cursor: entry.cursor ?? null,
          reason: entry.reason ?? null,
          message: entry.message ?? null,
          copied: entry.copied ? JSON.stringify(entry.copied) : null,
        })),
      )
      .execute()
  }
}

/**
 * Returns the next entries after the id `after`, in the order of their ids, except those that failed, copied files, and
 * folders that only have to be deleted.
 */
export async function nextEntries(db: Database, jobId: string, after: string, limit: number): Promise<JobEntry[]> {
  const rows = await db
    .selectFrom('job_entries')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('id', '>', after)
    .where('state', 'not in', ['LISTED', 'KEPT', 'COPIED'])
    .where('reason', 'is', null)
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
    .where('reason', 'is', null)
    .orderBy('depth', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toEntry)
}

/** Returns whether a job still has work to do, apart from what a retry would work on. */
export async function hasEntries(db: Database, jobId: string): Promise<boolean> {
  const row = await db
    .selectFrom('job_entries')
    .select('id')
    .where('job_id', '=', jobId)
    .where('state', '!=', 'KEPT')
    .where('reason', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function deleteEntries(db: Database, jobId: string): Promise<void> {
  await db.deleteFrom('job_entries').where('job_id', '=', jobId).execute()
}

/** The work that remains on an entry after a step. */
export type Next = { kind: 'done' } | { kind: 'page'; cursor: string | null } | { kind: 'listed' }

/**
 * Stores one step of a job in one transaction: what it did, the entries that it found, and how the entry continues. If the
 * failures include the entry itself, it does not continue.
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
    await insertEntries(tx, run.job.id, [...found, ...done.copied])
    const failed = await storeFailures(tx, run.job.id, done)
    if (failed.includes(entry.id)) return
    if (next.kind === 'done') return deleteEntriesOf(tx, run.job.id, [entry.id])
    await tx
      .updateTable('job_entries')
      .set({
        ...(next.kind === 'page' ? { cursor: next.cursor } : { state: 'LISTED' as const }),
        ...(done.failures.length > 0 && { has_failed: true }),
        ...(done.skipped > 0 && { has_skipped: true }),
      })
      .where('job_id', '=', run.job.id)
      .where('id', '=', entry.id)
      .execute()
  })
}

/** Stores the end of the work on several entries: some have failed or are kept, and the others are done. @throws LeaseLost */
export async function finishEntries(
  db: Database,
  run: RunId,
  ids: readonly string[],
  { kept, done }: { kept: readonly string[]; done: Done },
): Promise<void> {
  await db.transaction().execute(async tx => {
    await countDone(tx, run, done)
    const left = new Set([...kept, ...(await storeFailures(tx, run.job.id, done))])
    await deleteEntriesOf(
      tx,
      run.job.id,
      ids.filter(id => !left.has(id)),
    )
    if (kept.length === 0) return
    await tx
      .updateTable('job_entries')
      .set({ state: 'KEPT' })
      .where('job_id', '=', run.job.id)
      .where('id', 'in', kept)
      .execute()
  })
}

/** Returns which of the folders contain something that the job has left in place: what failed, or what it skipped. */
export async function foldersWithRest(db: Database, jobId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  // An index holds the first 400 characters, in the order of their bytes.
  const { rows } = await sql<{ id: string }>`
    select folder.id from job_entries as folder
    where folder.job_id = ${jobId} and folder.id in (${sql.join(ids)}) and (
      folder.has_failed or folder.has_skipped or exists (
        select from job_entries as inner_entry
        where inner_entry.job_id = folder.job_id
          and (inner_entry.reason is not null or inner_entry.state = 'KEPT')
          and left(inner_entry.path, 400) collate "C" >= left(folder.path || '/', 400)
          and left(inner_entry.path, 400) collate "C" <= left(folder.path || '/', 400) || chr(1114111)
          and starts_with(inner_entry.path, folder.path || '/')
          and inner_entry.provider_id = folder.provider_id
      )
    )`.execute(db)
  return new Set(rows.map(({ id }) => id))
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
}

/** Returns the ids of the failed entries that were stored before. */
async function storeFailures(db: Database, jobId: string, { failures }: Done): Promise<string[]> {
  const known = failures.filter(failure => failure.id !== undefined)
  await insertEntries(
    db,
    jobId,
    failures.filter(({ id }) => id === undefined),
  )
  for (const { id, state, cursor, reason, message } of known) {
    await db
      .updateTable('job_entries')
      .set({ state, cursor: cursor ?? null, reason, message })
      .where('job_id', '=', jobId)
      .where('id', '=', id as string)
      .execute()
  }
  return known.map(({ id }) => id as string)
}

async function deleteEntriesOf(db: Database, jobId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await db.deleteFrom('job_entries').where('job_id', '=', jobId).where('id', 'in', ids).execute()
}

export function toEntry(row: Selectable<Schema['job_entries']>): JobEntry {
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
    copied: row.copied,
  }
}

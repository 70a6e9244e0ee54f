/** The entries that a job still has to work on. Only the server that has the job's lease changes them. */
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import { type Database, executePrepared, storableJson } from '../client.ts'
import type {
  CopyFinding,
  JobEntryState,
  JobOutcome,
  LocationCheck,
  RestoreStep,
  Schema,
  StoredVersion,
} from '../schema.ts'

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
  /** Null unless it is a step of a RESTORE. */
  restores?: RestoreStep | null
  /** Null unless it is a finding of a KEEP_COPIES. */
  finding?: CopyFinding | null
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
export interface StepResults {
  files: number
  bytes: number
  skipped: number
  deleted: number
  failures: readonly NewFailure[]
  /** Failures that only count, because the report of a KEEP_COPIES is full. */
  unlisted: number
  /** The files that an atomic job has copied. */
  copied: readonly NewJobEntry[]
  /** The counts of a KEEP_COPIES, one for each of its sources; empty for other jobs. */
  checks: readonly LocationCheck[]
}

/** A run of a job: the job and the lease of the server that runs it. */
export interface RunId {
  job: { id: string }
  /** The id of the lease. */
  lease: string
}

type InsertedEntry = NewJobEntry & Partial<Pick<NewFailure, 'reason' | 'message'>>

export async function insertEntries(db: Database, jobId: string, entries: readonly InsertedEntry[]): Promise<void> {
  await insertion(sql`(select ${jobId}::uuid as id)`, entries).execute(db)
}

/** @param job a row source with the column `id`; without a row, nothing is inserted */
function insertion(job: RawBuilder<unknown>, entries: readonly InsertedEntry[]): RawBuilder<unknown> {
  const rows = entries.map(entry => ({
    state: entry.state,
    provider_id: entry.providerId,
    path: entry.path,
    target_path: entry.targetPath,
    depth: entry.depth,
    is_new_target: entry.isNewTarget,
    is_started: entry.isStarted ?? false,
    cursor: entry.cursor,
    reason: entry.reason,
    message: entry.message,
    // These are JSON texts inside the JSON of the rows, because the ids and etags in them can contain NUL.
    copied: entry.copied && JSON.stringify(entry.copied),
    restores: entry.restores && JSON.stringify(entry.restores),
    finding: entry.finding && JSON.stringify(entry.finding),
  }))
  return sql`
    insert into job_entries (job_id, state, provider_id, path, target_path, depth, is_new_target, is_started, cursor, reason,
      message, copied, restores, finding)
    select job.id, e.state, e.provider_id, e.path, e.target_path, e.depth, e.is_new_target, e.is_started, e.cursor, e.reason,
      e.message, e.copied::json, e.restores::json, e.finding::json
    from ${job} as job, json_to_recordset(${storableJson(rows)}::json) as e (state text, provider_id uuid, path text,
      target_path text, depth integer, is_new_target boolean, is_started boolean, cursor text, reason text, message text,
      copied text, restores text, finding text)`
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
export function deepestListed(db: Database, jobId: string, limit: number): Promise<JobEntry[]> {
  return listedByDepth(db, jobId, 'desc', limit)
}

/** Returns listed entries, the deepest or the shallowest first, without those that have failed. */
export async function listedByDepth(
  db: Database,
  jobId: string,
  order: 'asc' | 'desc',
  limit: number,
): Promise<JobEntry[]> {
  const rows = await db
    .selectFrom('job_entries')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('state', '=', 'LISTED')
    .where('reason', 'is', null)
    .orderBy('depth', order)
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
 * Stores one step of a job: what it did, the entries that it found, and how the entry continues. If the failures include the
 * entry itself, it does not continue.
 * @throws LeaseLost
 */
export async function commitStep(
  db: Database,
  run: RunId,
  { id }: JobEntry,
  { next, found, done }: { next: Next; found: readonly NewJobEntry[]; done: StepResults },
): Promise<void> {
  const flags = { hasFailed: done.failures.length > 0, hasSkipped: done.skipped > 0 }
  if (next.kind === 'done') await commit(db, run, done, { found, ended: [id] })
  else if (next.kind === 'page') await commit(db, run, done, { found, changed: { ids: [id], page: next, ...flags } })
  else await commit(db, run, done, { found, changed: { ids: [id], state: 'LISTED', ...flags } })
}

/**
 * Stores the end of the work on several entries: some have failed or are kept, and the others are done.
 * @param results.found what takes the place of some of them
 * @throws LeaseLost
 */
export async function finishEntries(
  db: Database,
  run: RunId,
  ids: readonly string[],
  { kept, found = [], done }: { kept: readonly string[]; found?: readonly NewJobEntry[]; done: StepResults },
): Promise<void> {
  const isKept = new Set(kept)
  const ended = ids.filter(id => !isKept.has(id))
  await commit(db, run, done, { found, ended, changed: { ids: kept, state: 'KEPT' } })
}

interface EntryChanges {
  found?: readonly NewJobEntry[]
  /** The ids of the entries whose work is done. */
  ended?: readonly string[]
  changed?: {
    ids: readonly string[]
    state?: JobEntryState
    /** The page that comes next. */
    page?: { cursor: string | null }
    hasFailed?: boolean
    hasSkipped?: boolean
  }
}

/**
 * Stores the results of a step in one statement, because all steps of a job wait for each other at the row of the job. Entries
 * that have failed neither end nor change otherwise. The ids of new entries are drawn after the row is locked, so they become
 * visible in their order.
 * @throws LeaseLost
 */
async function commit(
  db: Database,
  { job: { id }, lease }: RunId,
  { files, bytes, skipped, deleted, failures, unlisted, copied, checks }: StepResults,
  { found = [], ended = [], changed = { ids: [] } }: EntryChanges,
): Promise<void> {
  const [known, others] = [
    failures.filter(each => each.id !== undefined),
    failures.filter(each => each.id === undefined),
  ]
  const failed = known.map(({ id, state, cursor, reason, message }) => ({ id, state, cursor, reason, message }))
  const failedIds = new Set(failed.map(each => each.id))
  const without = (ids: readonly string[]) => ids.filter(each => !failedIds.has(each))
  const { state = null, page, hasFailed = false, hasSkipped = false } = changed
  const query = sql<{ id: string }>`
    with job as (
      update jobs set files = files + ${files}, bytes = bytes + ${bytes}, skipped = skipped + ${skipped},
        deleted = deleted + ${deleted}, failed = failed + ${failures.length + unlisted},
        pending_files = greatest(0, pending_files - ${files}), pending_bytes = greatest(0, pending_bytes - ${bytes})
        ${checks.length === 0 ? sql`` : sql`, checks = ${sumOfChecks(checks)}`}
      where id = ${id} and lease_id = ${lease} returning id
    ), added as (${insertion(sql`job`, [...found, ...copied, ...others])}
    ), failed as (
      update job_entries set state = e.state, cursor = e.cursor, reason = e.reason, message = e.message
      from job, json_to_recordset(${storableJson(failed)}::json) as e (id bigint, state text, cursor text, reason text,
        message text)
      where job_entries.job_id = job.id and job_entries.id = e.id
    ), ended as (
      delete from job_entries using job where job_entries.job_id = job.id and job_entries.id = any(${without(ended)}::bigint[])
    ), changed as (
      update job_entries set state = coalesce(${state}::text, state),
        cursor = case when ${page !== undefined}::boolean then ${page?.cursor ?? null}::text else cursor end,
        has_failed = has_failed or ${hasFailed}::boolean, has_skipped = has_skipped or ${hasSkipped}::boolean
      from job where job_entries.job_id = job.id and job_entries.id = any(${without(changed.ids)}::bigint[])
    )
    select id from job`
  const rows = await executePrepared(db, query)
  if (rows.length === 0) throw new LeaseLost(`Another server runs the job ${id}`)
}

/** The SQL of the counts of a job with those of a step. */
function sumOfChecks(checks: readonly LocationCheck[]): RawBuilder<unknown> {
  return sql`(
    select jsonb_agg(counted.of_location order by counted.n) from (
      select s.n, (select jsonb_object_agg(c.key, c.value::bigint + coalesce((checks -> (s.n::int - 1) ->> c.key)::bigint, 0))
        from jsonb_each_text(s.value) as c (key, value)) as of_location
      from jsonb_array_elements(${JSON.stringify(checks)}::jsonb) with ordinality as s (value, n)
    ) as counted)`
}

/** Returns the folders that still contain entries because these have failed, or because the job has skipped them. */
export async function findFoldersLeft(db: Database, jobId: string, ids: readonly string[]): Promise<Set<string>> {
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
    restores: row.restores,
    finding: row.finding,
  }
}

// The end of atomic jobs: they keep all of their copies or none.

/**
 * Decides once what a job does with its copies: it undoes them if anything has failed. A decision stays even if a later
 * step of the job fails. @throws LeaseLost
 */
export async function decideOutcome(db: Database, { job: { id }, lease }: RunId): Promise<JobOutcome> {
  const { rows } = await sql<{ outcome: JobOutcome }>`
    update jobs set outcome = coalesce(outcome, case when failed > 0 then 'UNDO' else 'KEEP' end)
    where id = ${id} and lease_id = ${lease} returning outcome`.execute(db)
  if (!rows[0]) throw new LeaseLost(`Another server runs the job ${id}`)
  return rows[0].outcome
}

/** Returns copied files. */
export async function nextCopied(db: Database, jobId: string, limit: number): Promise<JobEntry[]> {
  const rows = await db
    .selectFrom('job_entries')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('state', '=', 'COPIED')
    .where('reason', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toEntry)
}

/** Lets a retry delete the folders that were not empty before. */
export async function listKeptFolders(db: Database, jobId: string): Promise<void> {
  await sql`update job_entries set state = 'LISTED' where job_id = ${jobId} and state = 'FOLDER' and reason is null`.execute(
    db,
  )
}

/** Makes all folders that the job has created at the target listed ones, so that `deepestListed` returns them. */
export async function listNewFolders(db: Database, jobId: string): Promise<void> {
  await db.transaction().execute(async tx => {
    await sql`
      insert into job_entries (job_id, state, provider_id, path, target_path, depth, is_new_target)
        select job_id, 'LISTED', provider_id, path, target_path, depth, true from job_entries
        where job_id = ${jobId} and state = 'FOLDER' and is_new_target`.execute(tx)
    // Failures stay, to be shown.
    await sql`delete from job_entries where job_id = ${jobId} and state <> 'LISTED' and state <> 'COPIED'
      and reason is null`.execute(tx)
    await sql`update job_entries set is_new_target = false where job_id = ${jobId} and state = 'FOLDER'`.execute(tx)
  })
}

/** Resets the counts of a job that has undone everything. @throws LeaseLost */
export async function forgetCounts(db: Database, { job: { id }, lease }: RunId): Promise<void> {
  const { rows } = await sql`
    update jobs set files = 0, bytes = 0 where id = ${id} and lease_id = ${lease} returning id`.execute(db)
  if (rows.length === 0) throw new LeaseLost(`Another server runs the job ${id}`)
}

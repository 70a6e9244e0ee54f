/** Changes that are running, with what they have reserved. The migration of the quotas explains how the sums stay exact. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import { type RetrySchedule, withRetries } from '../../lib/retry.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from '../claims.ts'
import { type Database, executePrepared, isDeadlock } from '../client.ts'
import { isWithinPath, restoredPath, storedPath } from '../entry-paths.ts'
import type { Schema } from '../schema.ts'

/** The time until a change without a renewal counts as interrupted. */
const lease = sql<string>`make_interval(secs => 30)`
/** Seconds until another server looks at an interrupted change again. */
const retrySeconds = 60
/** In milliseconds. */
const deadlockSchedule: RetrySchedule = { delays: [10, 50, 250, 1000], jitter: 1 }

/**
 * Runs a statement that changes the sums of rules. Statements that lock the same rules in different orders can wait for each other: then
 * PostgreSQL ends one of them, which has changed nothing.
 */
function despiteDeadlocks<T>(statement: () => Promise<T>): Promise<T> {
  return withRetries(deadlockSchedule, { leastDelay: error => (isDeadlock(error) ? 0 : null) }, statement)
}

export interface QuotaTarget {
  providerId: string
  workspaceId: string
  path: StoragePath
}

/** What a change needs. */
export interface QuotaRequest extends QuotaTarget {
  /** The id of the change: a request for a change that exists makes its reservation larger. */
  id: string
  /** The member who is charged. */
  userId: string
  /** Where files move from, which count against its rules already. Default: nothing moves */
  from?: StoragePath | undefined
  bytes: number
  /** Whether `bytes` are added to those of the change. Otherwise the change has at least these. */
  adds: boolean
  files: number
  /** The upload whose row keeps the reservation. Default: the process does */
  uploadId?: string | undefined
}

/** A rule that refuses a request, with what it had left. Null is no limit. */
export interface QuotaRefusal {
  ruleId: string
  leftBytes: number | null
  leftFiles: number | null
}

interface RefusalRow {
  /** The position of the request, from 1. */
  request_number: number
  rule_id: string
  left_bytes: string | null
  left_files: string | null
}

/**
 * Reserves for each request what it needs, or nothing at all. A request whose provider or upload is gone needs nothing.
 * @returns the refusals of each request
 */
export async function reserveQuota(
  db: Database,
  holder: string,
  requests: readonly QuotaRequest[],
): Promise<QuotaRefusal[][]> {
  const columns = {
    id: requests.map(({ id }) => id),
    provider: requests.map(({ providerId }) => providerId),
    workspace: requests.map(({ workspaceId }) => workspaceId),
    user: requests.map(({ userId }) => userId),
    path: requests.map(({ path }) => storedPath(path)),
    source: requests.map(({ from }) => (from === undefined ? null : storedPath(from))),
    bytes: requests.map(({ bytes }) => bytes),
    adds: requests.map(({ adds }) => adds),
    files: requests.map(({ files }) => files),
    upload: requests.map(({ uploadId }) => uploadId ?? null),
    holder: requests.map(({ uploadId }) => (uploadId === undefined ? holder : null)),
  }
  const reservation = sql<RefusalRow>`
    select * from reserve_quota(array(
      select row(r.id, r.provider, r.workspace, r.member, r.path, r.path, r.source, r.bytes, r.adds, r.files, r.upload,
        r.holder)::quota_request
      from unnest(${columns.id}::text[], ${columns.provider}::uuid[], ${columns.workspace}::uuid[], ${columns.user}::uuid[],
        ${columns.path}::text[], ${columns.source}::text[], ${columns.bytes}::bigint[], ${columns.adds}::boolean[],
        ${columns.files}::bigint[], ${columns.upload}::text[], ${columns.holder}::uuid[])
        as r (id, provider, workspace, member, path, source, bytes, adds, files, upload, holder)
    ), ${lease})`
  const rows = await despiteDeadlocks(() => executePrepared(db, reservation))
  const refusals: QuotaRefusal[][] = requests.map(() => [])
  for (const row of rows) {
    refusals[row.request_number - 1]?.push({
      ruleId: row.rule_id,
      leftBytes: row.left_bytes === null ? null : Math.max(0, Number(row.left_bytes)),
      leftFiles: row.left_files === null ? null : Math.max(0, Number(row.left_files)),
    })
  }
  return refusals
}

/** A file that is stored now. */
export interface StoredFile extends QuotaTarget {
  /** The change that stored it. */
  changeId: string
  userId: string
  size: number
}

/** Charges stored files, and ends their changes, in one statement. @param files of different paths */
export async function endQuotaWrites(db: Database, files: readonly StoredFile[]): Promise<void> {
  const end = sql`
    with ended as (
      delete from quota_changes where id = any(${files.map(({ changeId }) => changeId)}::text[])
    )
    insert into quota_files (provider_id, workspace_id, user_id, size, changed_at, path, charged_path)
    select f.provider, f.workspace, f.member, f.size, clock_timestamp(), f.path, f.path
    from unnest(${files.map(({ providerId }) => providerId)}::uuid[], ${files.map(({ workspaceId }) => workspaceId)}::uuid[],
      ${files.map(({ userId }) => userId)}::uuid[], ${files.map(({ size }) => size)}::bigint[],
      ${files.map(({ path }) => storedPath(path))}::text[]) as f (provider, workspace, member, size, path)
    join providers on providers.id = f.provider
    order by f.provider, md5(f.path)
    on conflict (provider_id, md5(path)) do update set size = excluded.size, user_id = excluded.user_id,
      charged_path = excluded.charged_path, changed_at = excluded.changed_at`
  await despiteDeadlocks(() => executePrepared(db, end))
}

/** A change that reserves nothing. */
export type PlainQuotaChange = QuotaTarget & { id: string; userId: string; isTree: boolean }

/** Notes that a change begins, so that it is found if the process is killed. */
export async function noteQuotaChange(db: Database, holder: string, change: PlainQuotaChange): Promise<void> {
  await db
    .insertInto('quota_changes')
    .values({
      id: change.id,
      provider_id: change.providerId,
      workspace_id: change.workspaceId,
      user_id: change.userId,
      path: storedPath(change.path),
      is_tree: change.isTree,
      bytes: 0,
      rules: [],
      rule_bytes: [],
      rule_files: [],
      holder,
      due_at: sql<Date>`now() + ${lease}`,
    })
    .execute()
}

/** Ends an interrupted change after which the back end has a file of this size at the path. */
export async function endObserved(db: Database, change: PlainQuotaChange, size: number): Promise<void> {
  const path = storedPath(change.path)
  const end = sql`
    with ended as (delete from quota_changes where id = ${change.id})
    insert into quota_files as known (provider_id, workspace_id, user_id, size, changed_at, path, charged_path)
    values (${change.providerId}, ${change.workspaceId}, ${change.userId}, ${size}, clock_timestamp(), ${path}, ${path})
    on conflict (provider_id, md5(path)) do update set size = excluded.size, changed_at = excluded.changed_at,
      user_id = case when known.size = excluded.size then known.user_id else excluded.user_id end`
  await despiteDeadlocks(() => end.execute(db))
}

/** Ends a change after which nothing is at a path. @param id of the change; empty if it has no row */
export async function endQuotaRemoval(
  db: Database,
  id: string,
  { providerId, path }: Pick<QuotaTarget, 'providerId' | 'path'>,
): Promise<void> {
  const end = sql`select end_quota_removal(${id}, ${providerId}, ${storedPath(path)})`
  await despiteDeadlocks(() => end.execute(db))
}

/**
 * Ends the move of an entry.
 * @param options.keepsCharge whether the files go on counting against the quotas of where they were
 * @param options.size the bytes of a file; null for a folder
 */
export async function endQuotaMove(
  db: Database,
  id: string,
  { providerId, workspaceId, path }: QuotaTarget,
  options: { from: StoragePath; keepsCharge: boolean; size: number | null },
): Promise<void> {
  const end = sql`
    select end_quota_move(${id}, ${providerId}, ${workspaceId}, ${storedPath(options.from)}, ${storedPath(path)},
      ${options.keepsCharge}, ${options.size})`
  await despiteDeadlocks(() => end.execute(db))
}

/** Ends a change that has changed nothing. */
export async function dropQuotaChange(db: Database, id: string): Promise<void> {
  await despiteDeadlocks(() => db.deleteFrom('quota_changes').where('id', '=', id).execute())
}

/** Renews the leases of the changes that a process runs. */
export async function renewQuotaChanges(db: Database, holder: string, ids: Iterable<string>): Promise<void> {
  await db
    .updateTable('quota_changes')
    .set({ due_at: sql<Date>`now() + ${lease}` })
    .where('holder', '=', holder)
    .where(sql<SqlBool>`id = any(${[...ids]}::text[])`)
    .execute()
}

/** Gives a change whose outcome is unknown to whichever server looks first. */
export async function abandonQuotaChange(db: Database, id: string): Promise<void> {
  await db.updateTable('quota_changes').set({ holder: null, due_at: sql<Date>`now()` }).where('id', '=', id).execute()
}

const isDue = sql<SqlBool>`waiting.due_at <= now()`

export function isAnyQuotaChangeDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'quota_changes', isDue)
}

export async function claimQuotaChange(db: Database): Promise<PlainQuotaChange | null> {
  const [row] = await claimRows(db, 'quota_changes', {
    due: dueRows('quota_changes', { isDue, orderBy: sql`waiting.due_at` }),
    set: sql`holder = null, due_at = ${secondsFromNow(retrySeconds)}`,
  })
  return row ? toChange(row) : null
}

function toChange(row: Selectable<Schema['quota_changes']>): PlainQuotaChange {
  return {
    id: row.id,
    providerId: row.provider_id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    path: restoredPath(row.path),
    isTree: row.is_tree,
  }
}

/** Returns what is known to be at and below a path. */
export async function sumQuotaFiles(
  db: Database,
  { providerId, path }: QuotaTarget,
): Promise<{ bytes: number; files: number }> {
  const { rows } = await sql<{ bytes: string | null; files: string }>`
    select sum(size)::bigint as bytes, count(*) as files from quota_files
    where provider_id = ${providerId} and ${isWithinPath(storedPath(path))}`.execute(db)
  return { bytes: Number(rows[0]?.bytes ?? 0), files: Number(rows[0]?.files ?? 0) }
}

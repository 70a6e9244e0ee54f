/** Changes that are running, with what they have reserved. The migrations of the quotas explain how the sums stay exact. */
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import { type RetrySchedule, withRetries } from '../../lib/retry.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from '../claims.ts'
import { type Database, executePrepared, isDeadlock } from '../client.ts'
import { restoredPath, storedPath } from '../entry-paths.ts'
import type { Schema } from '../schema.ts'

/**
 * The time until a change without a renewal counts as interrupted. Without the database, work ends sooner, so that a change which is still
 * running keeps what it has reserved.
 */
const lease = sql<string>`make_interval(secs => 120)`
/** Seconds until another server looks at an interrupted change again. */
const retrySeconds = 60
/** Seconds in which a call that failed may still change something at the back end. */
const lateSeconds = 5
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

/** A change, as it is noted while it runs. */
export interface QuotaChange extends QuotaTarget {
  id: string
  /** The member who is charged. */
  userId: string
  /** Where an entry moves from. Default: nothing moves */
  from?: StoragePath | undefined
  /** Whether everything below the path changes, too. */
  isTree: boolean
}

/** The bytes and files that a change needs. A request for a change that exists makes its reservation larger. */
export interface QuotaRequest extends QuotaChange {
  bytes: number
  /** Whether `bytes` are added to those of the change. Otherwise the change has at least these. */
  adds: boolean
  files: number
  /** Whether a file that is replaced stays as a version, so that it gives nothing back. */
  keepsReplaced: boolean
  /** Whether the file appears next, so that nothing else may take away what it counts on. */
  isFinal: boolean
  /** The upload whose row keeps the reservation. */
  uploadId?: string | undefined
  /** Whether the process renews the lease: the change may be running at the back end. */
  isRunning: boolean
}

/** A rule that refuses a request, with what it had left. Null is no limit. */
export interface QuotaRefusal {
  ruleId: string
  leftBytes: number | null
  leftFiles: number | null
}

export interface QuotaAnswer {
  refusals: QuotaRefusal[]
  /** Whether less was reserved because a file is replaced. */
  hasCredit: boolean
}

interface AnswerRow {
  /** The position of the request, from 1. */
  request_number: number
  rule_id: string | null
  left_bytes: string | null
  left_files: string | null
}

/** Reserves for each request what it needs, or nothing at all. A request whose provider or upload is gone needs nothing. */
export async function reserveQuota(
  db: Database,
  holder: string,
  requests: readonly QuotaRequest[],
): Promise<QuotaAnswer[]> {
  const columns = {
    id: requests.map(({ id }) => id),
    provider: requests.map(({ providerId }) => providerId),
    workspace: requests.map(({ workspaceId }) => workspaceId),
    user: requests.map(({ userId }) => userId),
    path: requests.map(({ path }) => storedPath(path)),
    source: requests.map(({ from }) => (from === undefined ? null : storedPath(from))),
    isTree: requests.map(({ isTree }) => isTree),
    bytes: requests.map(({ bytes }) => bytes),
    adds: requests.map(({ adds }) => adds),
    files: requests.map(({ files }) => files),
    keeps: requests.map(({ keepsReplaced }) => keepsReplaced),
    final: requests.map(({ isFinal }) => isFinal),
    upload: requests.map(({ uploadId }) => uploadId ?? null),
    holder: requests.map(({ isRunning }) => (isRunning ? holder : null)),
  }
  const reservation = sql<AnswerRow>`
    select * from reserve_quota(array(
      select row(r.*)::quota_request
      from unnest(${columns.id}::text[], ${columns.provider}::uuid[], ${columns.workspace}::uuid[], ${columns.user}::uuid[],
        ${columns.path}::text[], ${columns.source}::text[], ${columns.isTree}::boolean[], ${columns.bytes}::bigint[],
        ${columns.adds}::boolean[], ${columns.files}::bigint[], ${columns.keeps}::boolean[], ${columns.final}::boolean[],
        ${columns.upload}::text[], ${columns.holder}::uuid[]) as r
    ), ${lease})`
  const rows = await despiteDeadlocks(() => executePrepared(db, reservation))
  const answers: QuotaAnswer[] = requests.map(() => ({ refusals: [], hasCredit: false }))
  for (const row of rows) {
    const answer = answers[row.request_number - 1]
    if (!answer) continue
    if (row.rule_id === null) answer.hasCredit = true
    else {
      answer.refusals.push({
        ruleId: row.rule_id,
        leftBytes: row.left_bytes === null ? null : Math.max(0, Number(row.left_bytes)),
        leftFiles: row.left_files === null ? null : Math.max(0, Number(row.left_files)),
      })
    }
  }
  return answers
}

/** Notes a change that needs nothing, so that it is found if the process is killed. */
export async function noteQuotaChange(db: Database, holder: string, change: QuotaChange): Promise<void> {
  await insertChange(db, change, { holder, due_at: sql<Date>`now() + ${lease}` })
}

/** Leaves it to a look at the back end what a change has done that nobody has noted. */
export async function doubtQuotaChange(db: Database, change: QuotaChange): Promise<void> {
  await insertChange(db, change, { holder: null, due_at: sql<Date>`now()` })
}

async function insertChange(
  db: Database,
  { id, providerId, workspaceId, userId, path, from, isTree }: QuotaChange,
  lease: { holder: string | null; due_at: RawBuilder<Date> },
): Promise<void> {
  await db
    .insertInto('quota_changes')
    .values({
      id,
      provider_id: providerId,
      workspace_id: workspaceId,
      user_id: userId,
      path: storedPath(path),
      source_path: from === undefined ? null : storedPath(from),
      is_tree: isTree,
      bytes: 0,
      rules: [],
      rule_bytes: [],
      rule_files: [],
      ...lease,
    })
    .execute()
}

/** How a change has ended, as the process knows that ran it. */
export interface QuotaEnd extends QuotaChange {
  /** The bytes of the file that is at the path now; null for a folder, and if nothing is there. */
  size: number | null
}

/** Who knows how a change has ended. */
interface EndOptions {
  /** Whether somebody has looked at the back end, after the change and all others around its path had ended. */
  isLook: boolean
}

const byItsProcess: EndOptions = { isLook: false }

function endsOf(ends: readonly QuotaEnd[]) {
  return sql`array(select row(e.*)::quota_end from unnest(
    ${ends.map(({ id }) => id)}::text[], ${ends.map(({ providerId }) => providerId)}::uuid[],
    ${ends.map(({ workspaceId }) => workspaceId)}::uuid[], ${ends.map(({ userId }) => userId)}::uuid[],
    ${ends.map(({ path }) => storedPath(path))}::text[],
    ${ends.map(({ from }) => (from === undefined ? null : storedPath(from)))}::text[],
    ${ends.map(({ isTree }) => isTree)}::boolean[], ${ends.map(({ size }) => size)}::bigint[]) as e)`
}

/**
 * Charges stored files, and ends their changes.
 * @returns the ids of the changes that have ended. The others met changes of the same path: a look decides about them
 */
export async function endQuotaWrites(
  db: Database,
  ends: readonly QuotaEnd[],
  { isLook } = byItsProcess,
): Promise<ReadonlySet<string>> {
  const end = sql<{ ended: string[] }>`select end_quota_writes(${endsOf(ends)}, ${isLook}) as ended`
  const rows = await despiteDeadlocks(() => executePrepared(db, end))
  return new Set(rows[0]?.ended)
}

/** Ends a change after which nothing is at a path, nor at the one that it was moved from. Returns whether it has ended. */
export async function endQuotaRemoval(db: Database, change: QuotaChange, { isLook } = byItsProcess): Promise<boolean> {
  const end = sql<{ ended: boolean }>`
    select end_quota_removal((${endsOf([{ ...change, size: null }])})[1], ${isLook}) as ended`
  return (await despiteDeadlocks(() => end.execute(db))).rows[0]?.ended === true
}

/** Ends the move of an entry. Returns whether it has ended. */
export async function endQuotaMove(db: Database, end: QuotaEnd, { isLook } = byItsProcess): Promise<boolean> {
  const statement = sql<{ ended: boolean }>`select end_quota_move((${endsOf([end])})[1], ${isLook}) as ended`
  return (await despiteDeadlocks(() => statement.execute(db))).rows[0]?.ended === true
}

/** Counts that nothing is at and below a path in the trash any more, which no other change uses. */
export async function forgetTrashedFiles(db: Database, providerId: string, path: StoragePath): Promise<void> {
  const end = sql`
    select end_quota_removal(row(null, ${providerId}::uuid, null, null, ${storedPath(path)}, null, true, null)::quota_end, false)`
  await despiteDeadlocks(() => end.execute(db))
}

/** Ends a change that has changed nothing. The reservation of an upload lasts as long as the upload. */
export async function dropQuotaChange(db: Database, id: string): Promise<void> {
  await despiteDeadlocks(() => sql`select finish_quota_changes(array[${id}::text])`.execute(db))
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

/** Gives a change whose outcome is unknown to whichever server looks first, as soon as the call can no longer change anything. */
export async function abandonQuotaChange(db: Database, id: string): Promise<void> {
  await db
    .updateTable('quota_changes')
    .set({ holder: null, due_at: secondsFromNow(lateSeconds) })
    .where('id', '=', id)
    .execute()
}

/** A change waits as long as another one runs that meets it, and until it is clear whether what it has replaced is a version, which counts. */
const isDue = sql<SqlBool>`waiting.due_at <= now() and not exists (
  select from quota_changes running where running.provider_id = waiting.provider_id and running.id <> waiting.id
    and running.holder is not null and running.due_at > now() and quota_paths_meet(running.path, running.source_path,
      running.is_tree, waiting.path, waiting.source_path, waiting.is_tree))
  and not exists (select from file_versions where file_versions.provider_id = waiting.provider_id
    and left(file_versions.path, 400) collate "C" = left(waiting.path, 400) and file_versions.path = waiting.path
    and file_versions.state = 'KEEPING' and file_versions.due_at <= now() + ${lease})`

export function isAnyQuotaChangeDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'quota_changes', isDue)
}

/** A change that a server looks at. */
export interface DoubtfulChange extends QuotaChange {
  begunAt: Date
}

export async function claimQuotaChange(db: Database): Promise<DoubtfulChange | null> {
  const [row] = await claimRows(db, 'quota_changes', {
    dueKeys: dueRows('quota_changes', { isDue, orderBy: sql`waiting.due_at` }),
    set: sql`holder = null, due_at = ${secondsFromNow(retrySeconds)}`,
  })
  return row ? toChange(row) : null
}

function toChange(row: Selectable<Schema['quota_changes']>): DoubtfulChange {
  return {
    id: row.id,
    providerId: row.provider_id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    path: restoredPath(row.path),
    from: row.source_path === null ? undefined : restoredPath(row.source_path),
    isTree: row.is_tree,
    begunAt: row.begun_at,
  }
}

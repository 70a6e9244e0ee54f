/**
 * The tables of quotas. The bytes and files of changes enter (`changes.ts`), and so do the counts of a back end (`counts.ts`).
 * The use of each quota leaves, or an error that refuses the change.
 *
 * This file has the limits. Triggers keep their sums, so nothing else changes those.
 */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import type { Change, Database } from '../client.ts'
import { batchedAround, restoredPath, storedPath } from '../entry-paths.ts'
import { type RightsVersion, toVersion, versionColumns } from '../rights.ts'
import type { Schema } from '../schema.ts'

/** The subject of a quota: a folder of a provider with everything below it, or a member. */
export type QuotaSubject =
  | { providerId: string; path: StoragePath; userId: null }
  | { providerId: null; path: null; userId: string }

/** Limits; null is none. */
export interface QuotaLimits {
  bytes: number | null
  files: number | null
}

export type QuotaRule = QuotaSubject &
  QuotaLimits & {
    /** A UUID of version 7: ids are in order of time. */
    id: string
    workspaceId: string
    usedBytes: number
    usedFiles: number
    /** The bytes and files that running changes may still store. */
    reservedBytes: number
    reservedFiles: number
    /** Whether everything that existed before the quota was counted. */
    isExact: boolean
    createdAt: Date
  }

/** Whether quotas apply to a provider, with the version of rights that the same statement has read. */
export async function findQuotaFlag(
  db: Database,
  providerId: string,
): Promise<{ version: RightsVersion; hasQuotas: boolean } | null> {
  const row = await db
    .selectFrom('rights_counter')
    .select(versionColumns)
    .select(
      sql<boolean>`exists (
        select from quota_rules r join providers p on p.workspace_id = r.workspace_id
        where p.id = ${providerId} and (r.provider_id = p.id or r.user_id is not null)
      )`.as('has_quotas'),
    )
    .executeTakeFirst()
  return row ? { version: toVersion(row), hasQuotas: row.has_quotas } : null
}

/** A member is charged in every provider of the workspace. */
const isExact = sql<boolean>`case when quota_rules.provider_id is null then not exists (
    select from providers p left join quota_counts c on c.id = p.id
    where p.workspace_id = quota_rules.workspace_id and c.counted_at is null)
  else exists (select from quota_counts c where c.id = quota_rules.provider_id and c.counted_at is not null) end`

function selectRules(db: Database) {
  return db.selectFrom('quota_rules').selectAll('quota_rules').select(isExact.as('is_exact'))
}

export async function findQuotaRules(db: Database, ids: readonly string[]): Promise<QuotaRule[]> {
  return (
    await selectRules(db)
      .where('id', 'in', [...ids])
      .execute()
  ).map(toRule)
}

/** Returns a function that finds the rules of a folder and of the folders around it: see `batchedAround`. */
export function batchedQuotas(db: Database) {
  return batchedAround(async at => {
    const rules = (await selectRules(db).where(at).execute()).map(toRule)
    return rules.flatMap(rule => (rule.userId === null ? rule : []))
  })
}

export async function findMemberQuotas(
  db: Database,
  workspaceId: string,
  userIds: readonly string[],
): Promise<QuotaRule[]> {
  const rows = await selectRules(db)
    .where('workspace_id', '=', workspaceId)
    .where('user_id', 'in', [...userIds])
    .execute()
  return rows.map(toRule)
}

/** Lists the rules of a workspace, the newest first. @param of.providerId null for all rules */
export async function listQuotas(
  db: Database,
  of: { workspaceId: string; providerId: string | null },
  page: { limit: number; before: string | null },
): Promise<QuotaRule[]> {
  let query = selectRules(db).where('workspace_id', '=', of.workspaceId).orderBy('id', 'desc').limit(page.limit)
  if (of.providerId !== null) query = query.where('provider_id', '=', of.providerId)
  if (page.before !== null) query = query.where('id', '<', page.before)
  return (await query.execute()).map(toRule)
}

/** Waits until no other transaction changes the quotas of a workspace, or what they count, and returns how many there are. */
export async function lockQuotas(db: Change, workspaceId: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended('quotas ' || ${workspaceId}, 0))`.execute(db)
  const { count } = await db
    .selectFrom('quota_rules')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Changes the limits of the rule of a subject. Returns null if it has no rule. */
export async function updateQuota(
  db: Change,
  workspaceId: string,
  subject: QuotaSubject,
  limits: QuotaLimits,
): Promise<QuotaRule | null> {
  const row = await db
    .updateTable('quota_rules')
    .set({ max_bytes: limits.bytes, max_files: limits.files })
    .where('workspace_id', '=', workspaceId)
    .where(isOf(subject))
    .returning('id')
    .executeTakeFirst()
  return row ? ((await findQuotaRules(db, [row.id]))[0] ?? null) : null
}

/** Creates a rule. The lock of `lockQuotas` lets nobody change what it counts until the end of the transaction. */
export async function insertQuota(
  db: Change,
  rule: { id: string; workspaceId: string; subject: QuotaSubject } & QuotaLimits,
): Promise<QuotaRule> {
  const { subject } = rule
  await db
    .insertInto('quota_rules')
    .values({
      id: rule.id,
      workspace_id: rule.workspaceId,
      provider_id: subject.providerId,
      path: subject.path === null ? null : storedPath(subject.path),
      user_id: subject.userId,
      max_bytes: rule.bytes,
      max_files: rule.files,
    })
    .execute()
  const isCounted =
    subject.userId === null
      ? sql`f.provider_id = ${subject.providerId} and starts_with(f.charged_path, ${storedPath(subject.path)})`
      : sql`f.workspace_id = ${rule.workspaceId} and f.user_id = ${subject.userId}`
  await sql`
    update quota_rules set (used_bytes, used_files) = (
      select coalesce(sum(f.size), 0), count(*) from quota_files f where ${isCounted}
    ) where id = ${rule.id}`.execute(db)
  await sql`
    insert into quota_counts (id) select id from providers where workspace_id = ${rule.workspaceId}
      and (${subject.providerId}::uuid is null or id = ${subject.providerId})
    -- What changed while no quota applied is unknown.
    on conflict (id) do update set counted_at = null, wanted_at = clock_timestamp(),
      due_at = case when quota_counts.lease_id is null then now() else quota_counts.due_at end where not exists (
      select from quota_rules r where r.workspace_id = ${rule.workspaceId} and r.id <> ${rule.id}
        and (r.user_id is not null or r.provider_id = quota_counts.id))`.execute(db)
  const [created] = await findQuotaRules(db, [rule.id])
  if (!created) throw new Error('The rule was created just now.')
  return created
}

/** Returns the rule that was removed, or null. */
export async function deleteQuota(db: Change, workspaceId: string, subject: QuotaSubject): Promise<QuotaRule | null> {
  const [found] = (await selectRules(db).where('workspace_id', '=', workspaceId).where(isOf(subject)).execute()).map(
    toRule,
  )
  if (!found) return null
  await db.deleteFrom('quota_rules').where('id', '=', found.id).execute()
  return found
}

function isOf({ providerId, path, userId }: QuotaSubject) {
  return userId === null
    ? sql<SqlBool>`(provider_id = ${providerId} and md5(path) = md5(${storedPath(path)}))`
    : sql<SqlBool>`user_id = ${userId}`
}

const numberOf = (text: string | null) => (text === null ? null : Number(text))

function toRule(row: Selectable<Schema['quota_rules']> & { is_exact: boolean }): QuotaRule {
  const subject = { providerId: row.provider_id, path: row.path && restoredPath(row.path), userId: row.user_id }
  return {
    ...(subject as QuotaSubject),
    id: row.id,
    workspaceId: row.workspace_id,
    bytes: numberOf(row.max_bytes),
    files: numberOf(row.max_files),
    usedBytes: Number(row.used_bytes),
    usedFiles: Number(row.used_files),
    reservedBytes: Number(row.reserved_bytes),
    reservedFiles: Number(row.reserved_files),
    isExact: row.is_exact,
    createdAt: row.created_at,
  }
}

/** Counts for administrators: who the members are, what has failed lately, and what the database is. */
import { type RawBuilder, sql } from 'kysely'
import { firstIdAt } from '../auth/id.ts'
import { type Role, roles } from '../auth/scopes.ts'
import type { Database } from './client.ts'

/** Days. Failures that are older are not counted. */
export const failureDays = 7
/** The days in which a member was active. */
export const activeDays = [7, 30] as const
/** Failures of one kind that are counted. */
export const maxFailures = 10_000
/** Milliseconds. A workspace can have ten thousand members. */
const timeout = 10_000
const day = 24 * 60 * 60 * 1000

/** Runs all queries of an overview on one connection. @throws an error of PostgreSQL with the code 57014 if one takes too long */
export function boundedOverview<T>(db: Database, work: (trx: Database) => Promise<T>): Promise<T> {
  return db.transaction().execute(async trx => {
    await sql`select set_config('statement_timeout', ${String(timeout)}, true)`.execute(trx)
    return work(trx)
  })
}

/** Numbers of members. Only the last two include those that are deactivated or programs. */
export interface PeopleCounts {
  /** By the strongest role of the member and their groups. Roles that nobody has are missing. */
  roles: { role: Role; members: number }[]
  activeIn7Days: number
  activeIn30Days: number
  /** They sign in with a password alone. */
  withoutSecondFactor: number
  /** Invites that wait. */
  invites: number
  serviceAccounts: number
  deactivated: number
}

interface PeopleRow extends Record<Exclude<keyof PeopleCounts, 'roles'>, number> {
  ranks: Record<string, number> | null
}

/** A sign-in, a request with a key or an action in the audit log shows that somebody is active. */
export async function countPeople(db: Database, workspaceId: string): Promise<PeopleCounts> {
  const [week, month] = activeDays
  const since = firstIdAt(new Date(Date.now() - month * day))
  const { rows } = await sql<PeopleRow>`
    with people as (
      select (
          select max(array_position(${roles}::text[], r.role)) from (
            select m.role union all
            select g.role from group_members gm join groups g on g.id = gm.group_id
            where gm.workspace_id = m.workspace_id and gm.user_id = m.user_id
          ) r
        ) as rank,
        greatest(
          (select max(s.created_at) from sessions s where s.workspace_id = m.workspace_id and s.user_id = m.user_id),
          (select max(k.last_used_at) from api_keys k where k.workspace_id = m.workspace_id and k.user_id = m.user_id),
          (select e.at from audit_events e
            where e.workspace_id = m.workspace_id and e.user_id = m.user_id and e.id >= ${since} and e.address <> ''
            order by e.id desc limit 1)
        ) as active_at,
        u.password_hash is not null
          and not exists (select from totp_secrets t where t.user_id = u.id)
          and not exists (select from passkeys k where k.user_id = u.id) as has_no_factor
      from members m join users u on u.id = m.user_id
      where m.workspace_id = ${workspaceId} and not u.is_service and m.deactivated_at is null
    )
    select (select jsonb_object_agg(rank, n) from (select rank, count(*) as n from people group by rank) r) as ranks,
      count(*) filter (where active_at > now() - make_interval(days => ${week}))::integer as "activeIn7Days",
      count(*) filter (where active_at > now() - make_interval(days => ${month}))::integer as "activeIn30Days",
      count(*) filter (where has_no_factor)::integer as "withoutSecondFactor",
      (select count(*) from invites i
        where i.workspace_id = ${workspaceId} and i.used_at is null and i.expires_at > now())::integer as invites,
      ${members(workspaceId, sql`u.is_service`)} as "serviceAccounts",
      ${members(workspaceId, sql`not u.is_service and m.deactivated_at is not null`)} as deactivated
    from people`.execute(db)
  const [row] = rows
  if (!row) throw new Error('A query without groups has one row.')
  const { ranks, ...counts } = row
  const counted = roles.map((role, index) => ({ role, members: ranks?.[index + 1] ?? 0 }))
  return { ...counts, roles: counted.filter(({ members }) => members > 0).toReversed() }
}

function members(workspaceId: string, isCounted: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select count(*) from members m join users u on u.id = m.user_id
    where m.workspace_id = ${workspaceId} and ${isCounted})::integer`
}

export const failureKinds = [
  'STORAGES',
  'JOBS',
  'DAMAGE',
  'SCHEDULES',
  'WEBHOOKS',
  'DELIVERIES',
  'EMAILS',
  'DIRECTORY',
  'SIGN_INS',
] as const
export type FailureKind = (typeof failureKinds)[number]

export interface FailureCount {
  kind: FailureKind
  count: number
  /** When the last one happened; null if that is not known. */
  latestAt: Date | null
}

/**
 * Returns the kinds of failures of which there are some, in the order of `failureKinds`.
 * @param directory the source of the LDAP directory; null for none
 */
export async function countFailures(
  db: Database,
  workspaceId: string,
  directory: string | null,
): Promise<FailureCount[]> {
  const ago = sql`now() - make_interval(days => ${failureDays})`
  const since = firstIdAt(new Date(Date.now() - failureDays * day))
  const events = (isCounted: RawBuilder<unknown>) => sql`
    select e.at, e.count as n from audit_events e
    where e.workspace_id = ${workspaceId} and e.id >= ${since} and ${isCounted}
    order by e.id desc`
  const waiting = (table: string) => sql`
    select null::timestamptz, 1 from ${sql.table(table)} where next_attempt_at is not null and attempts > 0`
  const found: Record<FailureKind, RawBuilder<unknown>> = {
    STORAGES: sql`
      select null::timestamptz as at, 1 as n from providers
      where workspace_id = ${workspaceId} and status <> 'CONNECTED'`,
    JOBS: sql`
      select ended_at as at, 1 as n from jobs
      where workspace_id = ${workspaceId} and state = 'FAILED' and ended_at > ${ago}
      order by ended_at desc`,
    DAMAGE: events(sql`e.action = 'DAMAGE_FOUND'`),
    SCHEDULES: sql`
      select null::timestamptz as at, 1 as n from schedules
      where workspace_id = ${workspaceId} and error_reason is not null`,
    WEBHOOKS: sql`
      select null::timestamptz as at, 1 as n from webhooks where workspace_id = ${workspaceId} and error is not null`,
    DELIVERIES: sql`
      select d.ended_at as at, 1 as n from webhooks w join webhook_deliveries d on d.webhook_id = w.id
      where w.workspace_id = ${workspaceId} and d.state = 'FAILED' and d.ended_at > ${ago}
      order by d.ended_at desc`,
    EMAILS: sql`
      select at, 1 as n from lost_emails where at > ${ago}
      union all ${waiting('account_notices')} union all ${waiting('comment_notices')}
      union all ${waiting('reset_requests')} union all ${waiting('share_emails')}`,
    DIRECTORY: sql`select ended_at as at, 1 as n from directory_syncs
      where id = ${directory} and error is not null`,
    // A right password that a second factor follows is no failure.
    SIGN_INS: events(sql`e.action = 'LOGIN' and e.result not in ('OK', 'CUT', 'SECOND_FACTOR_REQUIRED')`),
  }
  const counts = failureKinds.map(
    kind => sql`
      select ${kind}::text as kind, coalesce(sum(n), 0)::integer as count, max(at) as "latestAt"
      from (select * from (${found[kind]}) f (at, n) limit ${maxFailures}) f`,
  )
  const { rows } = await sql<FailureCount>`${sql.join(counts, sql` union all `)}`.execute(db)
  return rows
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => failureKinds.indexOf(a.kind) - failureKinds.indexOf(b.kind))
}

export interface DatabaseFacts {
  postgresVersion: string
  /** The last migration. */
  migration: string
  databaseBytes: number
}

export async function readDatabaseFacts(db: Database): Promise<DatabaseFacts> {
  const { rows } = await sql<{ version: string; migration: string; bytes: string }>`
    select split_part(current_setting('server_version'), ' ', 1) as version,
      (select max(name) from kysely_migration) as migration,
      pg_database_size(current_database()) as bytes`.execute(db)
  const [row] = rows
  if (!row) throw new Error('A query without tables has one row.')
  return { postgresVersion: row.version, migration: row.migration, databaseBytes: Number(row.bytes) }
}

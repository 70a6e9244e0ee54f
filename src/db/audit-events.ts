import { type Expression, type ExpressionBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import { listBasePaths, type RestrictedAccess } from '../auth/access.ts'
import { firstIdAt } from '../auth/id.ts'
import { formatPath, root, type StoragePath } from '../auth/path.ts'
import type { AuditGrant } from '../auth/policy.ts'
import type { CredentialKind } from '../auth/viewer.ts'
import { type Change, type Database, storableJson } from './client.ts'
import { changeRights } from './rights.ts'
import type { AuditAction, AuditResult, Schema } from './schema.ts'

/**
 * One event: who did what to which object, with which credential, from where, and with which result. It keeps the names
 * of that time.
 */
export interface AuditEvent {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** Null: the only workspace. */
  workspaceId: string | null
  at: Date
  action: AuditAction
  result: AuditResult
  userId: string | null
  userEmail: string | null
  userName: string | null
  /** The token of SCIM stands for no member. */
  credentialKind: CredentialKind | 'SCIM_TOKEN' | null
  credentialId: string | null
  /** The first characters of an API key. */
  credentialPrefix: string | null
  address: string
  requestId: string
  providerId: string | null
  providerName: string | null
  /** Absolute within the provider; null also if the request had an invalid path. */
  path: string | null
  toProviderId: string | null
  toProviderName: string | null
  toPath: string | null
  subjectKind: AuditSubjectKind | null
  subjectId: string | null
  bytes: number | null
  /** The number of equal events that this row stands for. */
  count: number
  details: Record<string, unknown>
}

/**
 * The number of characters of `path` and `to_path` that the indexes contain, as in the migrations. A literal, so that
 * queries match the index.
 */
const indexedCharacters = sql.lit(250)

export type AuditSubjectKind =
  | 'API_KEY'
  | 'MEMBER'
  | 'GROUP'
  | 'INVITE'
  | 'SCIM_TOKEN'
  | 'SESSION'
  | 'WORKSPACE'
  | 'JOB'
  | 'SCHEDULE'
  | 'WEBHOOK'
  | 'SHARE'
  | 'ISSUER'

/** Commits a change together with its audit event, or neither. Calls `event` after the work. */
export function changeWithEvent<T>(
  db: Database,
  work: (change: Change) => Promise<T>,
  event: () => AuditEvent,
): Promise<T> {
  return changeWithOwnEvents(db, async change => {
    const result = await work(change)
    await insertAuditEvents(change, [event()])
    return result
  })
}

/** Runs work that writes the events of its changes itself, in one transaction with them. */
export function changeWithOwnEvents<T>(db: Database, work: (change: Change) => Promise<T>): Promise<T> {
  return changeRights(db, change => work(change as Change))
}

/**
 * Inserts events in one statement, each id at most once. Safe to repeat: an existing row takes the count and the details of an
 * event with a higher count. Looks up missing names of providers.
 */
export async function insertAuditEvents(db: Database, events: readonly AuditEvent[]): Promise<void> {
  await sql`
    insert into audit_events (id, workspace_id, at, action, result, user_id, user_email, user_name, credential_kind,
      credential_id, credential_prefix, address, request_id, provider_id, provider_name, path, to_provider_id,
      to_provider_name, to_path, subject_kind, subject_id, bytes, count, details)
    select e.id, coalesce(e."workspaceId", w.id), e.at, e.action, e.result, e."userId", e."userEmail", e."userName",
      e."credentialKind", e."credentialId", e."credentialPrefix", e.address, e."requestId", e."providerId",
      coalesce(e."providerName", p.name), e.path, e."toProviderId", coalesce(e."toProviderName", q.name), e."toPath",
      e."subjectKind", e."subjectId", e.bytes, e.count, e.details
    from json_to_recordset(${storableJson(events)}::json) as e (id uuid, "workspaceId" uuid, at timestamptz, action text, result text,
      "userId" uuid, "userEmail" text, "userName" text, "credentialKind" text, "credentialId" uuid,
      "credentialPrefix" text, address text, "requestId" text, "providerId" uuid, "providerName" text, path text,
      "toProviderId" uuid, "toProviderName" text, "toPath" text, "subjectKind" text, "subjectId" text, bytes bigint,
      count integer, details jsonb)
    left join (select id from workspaces order by created_at limit 1) w on true
    left join providers p on p.id = e."providerId" and p.workspace_id = e."workspaceId"
    left join providers q on q.id = e."toProviderId" and q.workspace_id = e."workspaceId"
    where coalesce(e."workspaceId", w.id) is not null
    on conflict (id) do update set count = excluded.count, details = excluded.details
      where audit_events.count < excluded.count`.execute(db)
}

export interface AuditFilter {
  userId?: string | undefined
  credentialId?: string | undefined
  /** Selects events whose source or destination is at `within` or below. */
  location?: { providerId: string; within: StoragePath } | undefined
  action?: AuditAction | undefined
  result?: string | undefined
  /** Inclusive. */
  since?: Date | undefined
  /** Exclusive. */
  until?: Date | undefined
}

/** Returns the newest events first. */
export async function listAuditEvents(
  db: Database,
  grant: AuditGrant,
  filter: AuditFilter,
  page: { limit: number; before: string | null },
): Promise<AuditEvent[]> {
  const { location } = filter
  if (!location) return selectEvents(db, grant, filter, page, null)
  // Two queries, because each has an index in the order of the page. A query for both has none.
  const [from, to] = await Promise.all([
    selectEvents(db, grant, filter, page, isAt('provider_id', 'path', location)),
    selectEvents(db, grant, filter, page, isAt('to_provider_id', 'to_path', location)),
  ])
  const both = new Map([...from, ...to].map(event => [event.id, event]))
  return [...both.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, page.limit)
}

async function selectEvents(
  db: Database,
  { workspaceId, access }: AuditGrant,
  { userId, credentialId, action, result, since, until }: AuditFilter,
  { limit, before }: { limit: number; before: string | null },
  location: EventFilter | null,
): Promise<AuditEvent[]> {
  let query = db
    .selectFrom('audit_events')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('workspace_id', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (!access.all) query = query.where(isReached(access))
  if (before !== null) query = query.where('id', '<', before)
  if (since !== undefined) query = query.where('id', '>=', firstIdAt(since))
  if (until !== undefined) query = query.where('id', '<', firstIdAt(until))
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  if (credentialId !== undefined) query = query.where('credential_id', '=', credentialId)
  if (action !== undefined) query = query.where('action', '=', action)
  if (result !== undefined) query = query.where('result', '=', result as AuditResult)
  // Redundant, but required to match the partial index.
  if (result !== undefined && result !== 'OK') query = query.where('result', '!=', 'OK')
  if (location) query = query.where(location)
  return (await query.execute()).map(toEvent)
}

/** The channel of the notifications about files. A payload is a list of ids of events, separated by commas. */
export const entryChannel = 'stowage_entries'

export async function findAuditEvents(db: Database, ids: readonly string[]): Promise<AuditEvent[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('audit_events').selectAll().where('id', 'in', ids).orderBy('id').execute()
  return rows.map(toEvent)
}

export type EventFilter = (eb: ExpressionBuilder<Schema, 'audit_events'>) => Expression<SqlBool>

/** Selects events all of whose locations are within the base paths. An event without a location is never selected. */
function isReached(access: RestrictedAccess): EventFilter {
  const folders = [...listBasePaths(access)]
  const isAnyOf = (provider: 'provider_id' | 'to_provider_id', path: 'path' | 'to_path'): EventFilter => {
    return eb => eb.or(folders.map(([providerId, within]) => isAt(provider, path, { providerId, within })(eb)))
  }
  return eb =>
    eb.and([
      isAnyOf('provider_id', 'path')(eb),
      eb.or([
        eb.and([eb('to_provider_id', 'is', null), eb('to_path', 'is', null)]),
        isAnyOf('to_provider_id', 'to_path')(eb),
      ]),
    ])
}

/**
 * The SQL of `isWithin`. The columns are compared byte by byte, and "0" follows "/". The indexes contain only the first
 * characters of a path, so each comparison is repeated on those, which keeps the order.
 */
export function isAt(
  provider: 'provider_id' | 'to_provider_id',
  path: 'path' | 'to_path',
  { providerId, within }: { providerId: string; within: StoragePath },
): EventFilter {
  return eb => {
    const isProvider = eb(provider, '=', providerId)
    if (within === root) return isProvider
    const top = formatPath(within)
    const indexed = sql<string>`left(${sql.ref(path)}, ${indexedCharacters})`
    const cut = (text: string) => sql<string>`left(${text}, ${indexedCharacters})`
    const [from, to] = [`${top}/`, `${top}0`]
    const isTop = eb.and([eb(indexed, '=', cut(top)), eb(path, '=', top)])
    const isBelow = eb.and([
      eb(indexed, '>=', cut(from)),
      eb(indexed, '<=', cut(to)),
      eb(path, '>=', from),
      eb(path, '<', to),
    ])
    return eb.and([isProvider, eb.or([isTop, isBelow])])
  }
}

/** Deletes up to `limit` older events, and returns their number. */
export async function deleteAuditEventsBefore(db: Database, time: Date, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('audit_events')
    .where('id', 'in', old =>
      old
        .selectFrom('audit_events')
        .select('id')
        .where('id', '<', firstIdAt(time))
        .orderBy('id')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

function toEvent(row: Selectable<Schema['audit_events']>): AuditEvent {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    at: row.at,
    action: row.action,
    result: row.result,
    userId: row.user_id,
    userEmail: row.user_email,
    userName: row.user_name,
    credentialKind: row.credential_kind,
    credentialId: row.credential_id,
    credentialPrefix: row.credential_prefix,
    address: row.address,
    requestId: row.request_id,
    providerId: row.provider_id,
    providerName: row.provider_name,
    path: row.path,
    toProviderId: row.to_provider_id,
    toProviderName: row.to_provider_name,
    toPath: row.to_path,
    subjectKind: row.subject_kind as AuditEvent['subjectKind'],
    subjectId: row.subject_id,
    bytes: row.bytes === null ? null : Number(row.bytes),
    count: row.count,
    details: row.details,
  }
}

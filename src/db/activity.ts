/** The changes of files and folders in the audit log, without the facts that only administrators may know. */
import { sql } from 'kysely'
import { includesPath, listBasePaths, type ProviderAccess } from '../auth/access.ts'
import { firstIdAt, isId } from '../auth/id.ts'
import { formatPath, parsePath } from '../auth/path.ts'
import type { SearchGrant } from '../auth/policy.ts'
import { type EventFilter, isAt } from './audit-events.ts'
import type { Database } from './client.ts'
import type { AuditAction, JobKind } from './schema.ts'

/** What changes list. */
export const activityActions = [
  'UPLOAD',
  'FOLDER_CREATE',
  'RENAME',
  'MOVE',
  'COPY',
  'DELETE',
  'RESTORE',
  'COMMENT_CREATE',
] as const satisfies readonly AuditAction[]

/** The events that are read, as the index of the migration lists them. */
export const activityEvents = [...activityActions, 'JOB_END'] as const satisfies readonly AuditAction[]

type ActivityAction = (typeof activityActions)[number]

/** The kinds of jobs whose changes are listed. Others check or repair copies. */
const actionOfJob: Readonly<Partial<Record<JobKind, ActivityAction>>> = {
  COPY: 'COPY',
  SYNC: 'COPY',
  MOVE: 'MOVE',
  DELETE: 'DELETE',
  RESTORE: 'RESTORE',
}

export interface ActivityLocation {
  providerId: string
  /** The name of that time; null for a provider that was disconnected before the event was written. */
  providerName: string | null
  /** Absolute within the provider. */
  path: string
}

/** One change of a file or folder, or what a job has changed. */
export interface ChangedEntry {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  at: Date
  action: ActivityAction
  /** Null for the server and for a visitor with a share link. */
  userId: string | null
  /** The name of that time or, without one, the email up to its "@". */
  userName: string | null
  /** A visitor did it, with a link that a member has made. */
  isByShareLink: boolean
  /** Null if it is outside of the access of the viewer. */
  location: ActivityLocation | null
  /** The destination; for a job, the folder. Null for an action that has none, and if it is outside of the access of the viewer. */
  destination: ActivityLocation | null
}

export interface FoundActivity extends ChangedEntry {
  /** The details of the event of a job; null for other changes. */
  job: Record<string, unknown> | null
}

/** Milliseconds. A viewer with few base paths in a large workspace may have no recent changes, and then all of them are read. */
const timeout = 5000

/**
 * Lists the changes since a time of which the viewer may read one of the locations, the newest first.
 * @throws an error of PostgreSQL with the code 57014 if it takes too long
 */
export async function listActivity(
  db: Database,
  { workspaceId, access, viewer }: SearchGrant,
  { limit, before, since }: { limit: number; before: string | null; since: Date },
): Promise<FoundActivity[]> {
  // Literals, so that the partial index matches.
  const isChange = sql<boolean>`(result = 'OK' or action = 'JOB_END') and action in (${sql.join(activityEvents.map(sql.lit))})`
  const jobKinds = sql.join(Object.keys(actionOfJob).map(sql.lit))
  let query = db
    .selectFrom('audit_events')
    .select(['id', 'at', 'action', 'user_id', 'credential_kind', 'provider_id', 'provider_name', 'path'])
    .select(['to_provider_id', 'to_provider_name', 'to_path', 'details'])
    .select(sql<string | null>`coalesce(user_name, split_part(user_email, '@', 1))`.as('user_name'))
    .where('workspace_id', '=', workspaceId)
    .where(isChange)
    // A job without this number has changed nothing, or its request has an event of its own.
    .where(sql<boolean>`(action <> 'JOB_END' or details ? 'changed' and details->>'kind' in (${jobKinds}))`)
    .where('id', '>=', firstIdAt(since))
    .orderBy('id', 'desc')
    .limit(limit)
  if (!access.all) query = query.where(isReached(access))
  if (before !== null) query = query.where('id', '<', before)
  const rows = await db.transaction().execute(async trx => {
    await sql`select set_config('statement_timeout', ${String(timeout)}, true)`.execute(trx)
    return (await trx.executeQuery(query)).rows
  })
  return rows.map(row => {
    const isByShareLink = row.credential_kind === 'SHARE'
    const job = row.action === 'JOB_END' ? row.details : null
    return {
      id: row.id,
      at: row.at,
      action: job ? (actionOfJob[job.kind as JobKind] ?? 'COPY') : (row.action as ActivityAction),
      userId: isByShareLink ? null : row.user_id,
      userName: isByShareLink ? null : row.user_name,
      isByShareLink,
      location: locationIn(viewer.access, row.provider_id, row.provider_name, row.path),
      destination: locationIn(viewer.access, row.to_provider_id, row.to_provider_name, row.to_path),
      job,
    }
  })
}

/** Selects events of which one location is within the base paths. */
function isReached(access: Exclude<ProviderAccess, { all: true }>): EventFilter {
  // A text from a client may name no provider.
  const folders = [...listBasePaths(access)].filter(([providerId]) => isId(providerId))
  return eb =>
    eb.or(
      folders.flatMap(([providerId, within]) => [
        isAt('provider_id', 'path', { providerId, within })(eb),
        isAt('to_provider_id', 'to_path', { providerId, within })(eb),
      ]),
    )
}

function locationIn(
  access: ProviderAccess,
  providerId: string | null,
  providerName: string | null,
  path: string | null,
): ActivityLocation | null {
  if (providerId === null || path === null) return null
  const parsed = parsePath(path)
  return includesPath(access, providerId, parsed) ? { providerId, providerName, path: formatPath(parsed) } : null
}

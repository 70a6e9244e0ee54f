/** Changes that nobody has made through this server, from the moment when the catalogue shows them until subscribers and webhooks know. */
import { type RawBuilder, sql } from 'kysely'
import { firstIdAt, timeOrderedIds } from '../../auth/id.ts'
import { commonPath, formatPath, parentOf, type StoragePath } from '../../auth/path.ts'
import { entryChannel } from '../audit-events.ts'
import type { Database } from '../client.ts'
import type { OutsideChangeKind } from '../schema.ts'

export interface OutsideChange {
  kind: OutsideChangeKind
  path: StoragePath
}

/** A change with its provider, for subscribers. */
export interface PublishedChange extends OutsideChange {
  id: string
  workspaceId: string
  providerId: string
  at: Date
}

const nextId = timeOrderedIds()
/** Changes of one step, and those that are published at once. More become one change of the folder around all of them. */
const maxTogether = 100

function bounded(changes: readonly OutsideChange[]): readonly OutsideChange[] {
  if (changes.length <= maxTogether) return changes
  const folders = changes.map(({ kind, path }) => (kind === 'TREE_CHANGED' ? path : parentOf(path)))
  return [{ kind: 'TREE_CHANGED', path: commonPath(folders) }]
}

/** Adds what differs from the catalogue. Call it in the transaction that changes the catalogue, or before it. */
export async function addOutside(db: Database, catalogue: number, changes: readonly OutsideChange[]): Promise<void> {
  if (changes.length === 0) return
  const at = new Date()
  const rows = bounded(changes).map(({ kind, path }) => ({ id: nextId(at), catalogue, kind, path }))
  await db.insertInto('outside_changes').values(rows).execute()
}

/** Returns published changes. @param ids perhaps also those of audit events */
export async function findPublished(db: Database, ids: readonly string[]): Promise<PublishedChange[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('outside_changes as o')
    .innerJoin('catalogues as c', 'c.id', 'o.catalogue')
    .innerJoin('providers as p', 'p.id', 'c.provider_id')
    .select(['o.id', 'o.kind', 'o.path', 'o.at', 'p.id as provider_id', 'p.workspace_id'])
    .where('o.id', 'in', ids)
    .orderBy('o.id')
    .execute()
  return rows.map(({ id, kind, path, at, provider_id: providerId, workspace_id: workspaceId }) => {
    return { id, kind, path: path as StoragePath, at, providerId, workspaceId }
  })
}

/**
 * Seconds for which a change waits: an own change is recorded up to a second after it was made, so the back end may report it first. One
 * that takes longer is in `catalogue_servers` two seconds after its beginning.
 */
const waitSeconds = 3
/** Milliseconds before a change in which an own change explains it. */
const explained = 30_000
/** Changes of one transaction. */
const batch = 1000
/** Ids in one notification, as in the trigger of audit events. */
const idsAtOnce = 200
/** Minutes for which servers can read a published change. */
const keptMinutes = 10

const isDue = sql<boolean>`published_at is null and at < now() - make_interval(secs => ${waitSeconds})`

interface WaitingChange extends OutsideChange {
  catalogue: number
  at: Date
  providerId: string | null
  workspaceId: string | null
}

/** Tells subscribers and webhooks of the changes that nobody has made through this server. @returns whether there may be more */
export async function publishOutside(db: Database): Promise<boolean> {
  const { rows: due } = await sql`select from outside_changes where ${isDue} limit 1`.execute(db)
  if (due.length === 0) return false
  return db.transaction().execute(async trx => {
    const { rows } = await sql<WaitingChange>`
      with due as (
        delete from outside_changes where id = any(array(
          select id from outside_changes
          where ${isDue}
          order by at limit ${batch} for update skip locked))
        returning *
      )
      select o.catalogue, o.kind, o.path, o.at, c.provider_id as "providerId", p.workspace_id as "workspaceId"
      from due o left join catalogues c on c.id = o.catalogue left join providers p on p.id = c.provider_id
      order by o.id`.execute(trx)
    if (rows.length === 0) return false
    for (const [providerId, changes] of Map.groupBy(rows, each => each.providerId)) {
      const [first] = changes
      if (!first?.workspaceId || providerId === null) continue
      const since = new Date(Math.min(...changes.map(({ at }) => at.getTime())) - explained)
      const own = await ownChanges(trx, { workspaceId: first.workspaceId, providerId, since })
      const outside = bounded(withoutRepeats(changes).filter(change => !isExplained(change, own)))
      await publish(trx, first, outside)
    }
    return rows.length === batch
  })
}

export async function deletePublished(db: Database): Promise<void> {
  await db
    .deleteFrom('outside_changes')
    .where(sql<boolean>`published_at < now() - make_interval(mins => ${keptMinutes})`)
    .execute()
}

function withoutRepeats(changes: readonly WaitingChange[]): WaitingChange[] {
  return [...new Map(changes.map(change => [`${change.kind} ${change.path}`, change])).values()]
}

/** Paths that were changed through this server, and all folders around them. */
interface OwnChanges {
  paths: ReadonlySet<StoragePath>
  around: ReadonlySet<StoragePath>
}

/** An own change of a folder is one of everything below it, and an own change may make the folders around it. */
function isExplained({ kind, path }: OutsideChange, { paths, around }: OwnChanges): boolean {
  if (kind === 'WRITTEN' && around.has(path)) return true
  for (let each = path; ; each = parentOf(each)) {
    if (paths.has(each)) return true
    if (each === '') return false
  }
}

/** The recent own changes that are considered. With more, some of them count as changes of others. */
const maxOwn = 20_000

async function ownChanges(
  db: Database,
  { workspaceId, providerId, since }: { workspaceId: string; providerId: string; since: Date },
): Promise<OwnChanges> {
  const ofEvents = (provider: 'provider_id' | 'to_provider_id', path: 'path' | 'to_path') => sql`
    select e.${sql.ref(path)} as path from audit_events e
    where e.workspace_id = ${workspaceId} and e.${sql.ref(provider)} = ${providerId} and e.id >= ${firstIdAt(since)}
      and e.action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY', 'DELETE', 'RESTORE', 'PROPERTIES_UPDATE')`
  const isRecent = sql<boolean>`not j.dry_run and (j.state in ('QUEUED', 'RUNNING') or j.ended_at >= ${since})`
  const { rows } = await sql<{ path: string | null }>`
    (${ofEvents('provider_id', 'path')}) union (${ofEvents('to_provider_id', 'to_path')})
    union
    select s->>'path' from jobs j cross join jsonb_array_elements(j.sources) s
      where ${isRecent} and j.workspace_id = ${workspaceId} and j.kind in ('MOVE', 'DELETE', 'RESTORE') and s->>'providerId' = ${providerId}
    union
    select ${targetOf(sql`j`, sql`s`)} from jobs j cross join jsonb_array_elements(j.sources) s
      where ${isRecent} and j.workspace_id = ${workspaceId} and j.target->>'providerId' = ${providerId}
    union
    select r->>'path' from catalogue_servers v cross join jsonb_array_elements(v.running) r where r->>'providerId' = ${providerId}
    limit ${maxOwn}`.execute(db)
  const paths = new Set(rows.flatMap(({ path }) => (path === null ? [] : (path.slice(1) as StoragePath))))
  const around = new Set<StoragePath>()
  for (const path of paths) {
    for (let each = path; each !== '' && !around.has(each); each = parentOf(each)) around.add(each)
  }
  return { paths, around }
}

/** A copy with the conflict RENAME has another name, so everything in the folder counts. */
function targetOf(job: RawBuilder<unknown>, source: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`case when ${job}.conflict = 'RENAME' then ${job}.target->>'path' else
    rtrim(${job}.target->>'path', '/') || rtrim('/' || coalesce(${job}.target->>'name', substring(${source}->>'path', '[^/]*$')), '/') end`
}

async function publish(
  db: Database,
  { catalogue, providerId, workspaceId }: WaitingChange,
  changes: readonly OutsideChange[],
): Promise<void> {
  if (changes.length === 0) return
  const at = new Date()
  const rows = changes.map(({ kind, path }) => ({ id: nextId(at), catalogue, kind, path, at, published_at: at }))
  await db.insertInto('outside_changes').values(rows).execute()
  const told = JSON.stringify(rows.map(({ id, kind, path }) => ({ id, kind, path: formatPath(path) })))
  // As `seenFrom`: a change of a folder above becomes one of the webhook's own location.
  await sql`
    insert into webhook_deliveries (webhook_id, id, action, event)
    select w.id, o.id, 'OUTSIDE_CHANGE', jsonb_build_object(
        'at', ${at}::timestamptz, 'result', 'OK', 'userId', null, 'userName', null, 'userEmail', null, 'credentialKind', null,
        'credentialId', null, 'providerId', p.id, 'providerName', p.name,
        'path', case when is_within(o.path, coalesce(w.path, '/')) then o.path else w.path end,
        'toProviderId', null, 'toProviderName', null, 'toPath', null, 'subjectKind', null, 'subjectId', null, 'bytes', null,
        'details', jsonb_build_object('kind',
          case when is_within(o.path, coalesce(w.path, '/')) or o.kind = 'REMOVED' then o.kind else 'TREE_CHANGED' end))
    from json_to_recordset(${told}::json) as o (id uuid, kind text, path text)
    join providers p on p.id = ${providerId}
    join webhooks w on w.workspace_id = ${workspaceId}
    where w.is_enabled and 'OUTSIDE_CHANGE' = any(w.actions)
      and (w.provider_id is null or (w.provider_id = p.id and (is_within(o.path, w.path) or is_within(w.path, o.path))))`.execute(
    db,
  )
  for (let start = 0; start < rows.length; start += idsAtOnce) {
    const ids = rows.slice(start, start + idsAtOnce).map(({ id }) => id)
    await sql`select pg_notify(${entryChannel}, ${ids.join(',')})`.execute(db)
  }
}

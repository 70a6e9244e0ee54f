/**
 * The text of files. Every file of a catalogue with the mode CONTENT whose text can be read has a row, which `putEntries` and
 * `deleteEntries` keep: WAITING until a server has read the file, then DONE or FAILED until the file changes.
 */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import type { Database } from '../client.ts'

/** The hashes of the folders that a path is at or below: see `gramsOfPath`. */
export interface ContentPath {
  path: StoragePath
  folders: readonly number[]
}

/** The columns of a list of paths with their folders. */
function pathColumns(paths: readonly ContentPath[]): RawBuilder<unknown> {
  return sql`unnest(${paths.map(({ path }) => path)}::text[],
    ${paths.map(({ folders }) => `{${folders.join(',')}}`)}::text[])`
}

/**
 * Adds entries to the files to read, if the catalogue has the mode CONTENT, except those whose present version was added before. The
 * transaction has locked the row of the catalogue.
 */
export async function queueContents(db: Database, catalogue: number, paths: readonly ContentPath[]): Promise<void> {
  if (paths.length === 0) return
  const { rows } = await sql`select from catalogues c where c.id = ${catalogue} and c.mode = 'CONTENT'`.execute(db)
  if (rows.length === 0) return
  await sql`
    insert into catalogue_contents (catalogue, path, size, modified_at, etag, folders)
    select e.catalogue, e.path, e.size, e.modified_at, e.etag, p.folders::integer[]
    from ${pathColumns(paths)} as p (path, folders)
    join catalogue_entries e on e.catalogue = ${catalogue} and e.path = p.path and not e.is_folder
    on conflict (catalogue, path) do update set size = excluded.size, modified_at = excluded.modified_at, etag = excluded.etag,
      folders = excluded.folders, queued_id = excluded.queued_id, state = 'WAITING', failure = null, content = null, words = null
    where (catalogue_contents.size, catalogue_contents.modified_at, catalogue_contents.etag)
      is distinct from (excluded.size, excluded.modified_at, excluded.etag)`.execute(db)
}

/** Gives the text of files to the paths where the files are now. Call it before their entries are deleted. */
export async function moveContents(
  db: Database,
  catalogue: number,
  moved: readonly (ContentPath & { from: StoragePath })[],
): Promise<void> {
  if (moved.length === 0) return
  await sql`
    update catalogue_contents c set path = p.path, folders = p.folders::integer[]
    from ${pathColumns(moved)} with ordinality as p (path, folders, place)
    join unnest(${moved.map(({ from }) => from)}::text[]) with ordinality as f (path, place) on f.place = p.place
    where c.catalogue = ${catalogue} and c.path = f.path
      and not exists (select from catalogue_contents x where x.catalogue = ${catalogue} and x.path = p.path)`.execute(
    db,
  )
}

/** The state of the reading of a catalogue. */
export interface ContentReading {
  catalogue: number
  lease: string
  /** The reading is over: the rows are to be removed. */
  isOver: boolean
  providerId: string | null
  failures: number
}

/** Seconds. */
const leaseSeconds = 45

const hasWork = sql<boolean>`(c.content_lease_until is null or c.content_lease_until < now())
  and (c.content_retry_at is null or c.content_retry_at <= now())
  and case when c.mode = 'CONTENT' and c.provider_id is not null then c.content_next is not null
      or exists (select from catalogue_contents x where x.catalogue = c.id and x.state = 'WAITING')
    else exists (select from catalogue_contents x where x.catalogue = c.id) end`

/** Reads only, because every server asks again and again. */
export async function hasContentWork(db: Database): Promise<boolean> {
  const { rows } = await sql`select from catalogues c where ${hasWork} limit 1`.execute(db)
  return rows.length > 0
}

/** Claims the catalogue with files to read that has waited longest. */
export async function claimReading(db: Database, lease: string): Promise<ContentReading | null> {
  const { rows } = await sql<{ id: number; provider_id: string | null; is_over: boolean; content_failures: number }>`
    update catalogues set content_lease_id = ${lease}, content_claimed_at = now(),
      content_lease_until = now() + make_interval(secs => ${leaseSeconds})
    where id = (select c.id from catalogues c where ${hasWork} order by c.content_claimed_at limit 1 for update skip locked)
    returning id, provider_id, mode <> 'CONTENT' or provider_id is null as is_over, content_failures`.execute(db)
  const [row] = rows
  if (!row) return null
  const { id, provider_id: providerId, is_over: isOver, content_failures: failures } = row
  return { catalogue: id, lease, isOver, providerId, failures }
}

type ReadingLease = Pick<ContentReading, 'catalogue' | 'lease'>

/** Returns whether the server still has the lease. */
export async function renewReading(db: Database, { catalogue, lease }: ReadingLease): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update catalogues set content_lease_until = now() + make_interval(secs => ${leaseSeconds})
    where id = ${catalogue} and content_lease_id = ${lease}`.execute(db)
  return (numAffectedRows ?? 0n) > 0n
}

/** Ends a lease. @param retry seconds until the next attempt after a failure of the back end; null without one */
export async function releaseReading(
  db: Database,
  { catalogue, lease }: ReadingLease,
  retry: number | null,
): Promise<void> {
  await sql`
    update catalogues set content_lease_id = null, content_lease_until = null,
      content_failures = ${retry === null ? sql`0` : sql`content_failures + 1`},
      content_retry_at = ${retry === null ? sql`null` : sql`now() + make_interval(secs => ${retry})`}
    where id = ${catalogue} and content_lease_id = ${lease}`.execute(db)
}

/**
 * Adds the next of the files that a catalogue had before it got the mode CONTENT.
 * @param select returns the files among them whose text can be read
 * @returns whether there were more
 */
export async function fillContents(
  db: Database,
  { catalogue, lease }: ReadingLease,
  limit: number,
  select: (paths: readonly StoragePath[]) => ContentPath[],
): Promise<boolean> {
  return db.transaction().execute(async trx => {
    // No entry is added or deleted meanwhile.
    const { rows } = await sql<{ content_next: string | null }>`
      select content_next from catalogues where id = ${catalogue} and content_lease_id = ${lease} and mode = 'CONTENT'
      for no key update`.execute(trx)
    const from = rows[0]?.content_next ?? null
    if (from === null) return false
    const { rows: found } = await sql<{ path: StoragePath }>`
      select path from catalogue_entries where catalogue = ${catalogue} and path > ${from} order by path limit ${limit}`.execute(
      trx,
    )
    const last = found.length < limit ? null : found.at(-1)?.path
    await queueContents(trx, catalogue, select(found.map(({ path }) => path)))
    await sql`update catalogues set content_next = ${last ?? null} where id = ${catalogue}`.execute(trx)
    return true
  })
}

/** A version of a file that waits to be read. */
export interface WaitingContent {
  catalogue: number
  path: StoragePath
  queuedId: string
  size: number | null
  etag: string | null
}

export async function listWaiting(db: Database, catalogue: number, limit: number): Promise<WaitingContent[]> {
  const { rows } = await sql<Omit<WaitingContent, 'size'> & { size: string | null }>`
    select catalogue, path, queued_id as "queuedId", size, etag from catalogue_contents
    where catalogue = ${catalogue} and state = 'WAITING' order by path limit ${limit}`.execute(db)
  return rows.map(row => ({ ...row, size: row.size === null ? null : Number(row.size) }))
}

/** Stores the text of a version of a file, unless there is another version now. @param words a literal of the type tsvector */
export async function storeContent(
  db: Database,
  { catalogue, path, queuedId }: WaitingContent,
  { text, words }: { text: string; words: string },
): Promise<void> {
  await sql`
    update catalogue_contents set state = 'DONE', content = ${text}, words = ${words}::tsvector
    where catalogue = ${catalogue} and path = ${path} and queued_id = ${queuedId} and state = 'WAITING'`.execute(db)
}

/** Remembers that a version of a file cannot be read. */
export async function failContent(db: Database, content: WaitingContent, failure: string): Promise<void> {
  const { catalogue, path, queuedId } = content
  await sql`
    update catalogue_contents set state = 'FAILED', failure = ${failure}
    where catalogue = ${catalogue} and path = ${path} and queued_id = ${queuedId} and state = 'WAITING'`.execute(db)
}

/** Removes rows of files that are not read on this server. */
export async function dropContents(db: Database, catalogue: number, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  await sql`delete from catalogue_contents where catalogue = ${catalogue} and path = any(${paths})`.execute(db)
}

/** Removes up to `limit` rows of a catalogue without the mode CONTENT. Returns their number. */
export async function removeContents(db: Database, catalogue: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from catalogue_contents where catalogue = ${catalogue} and path = any(array(
      select path from catalogue_contents where catalogue = ${catalogue} order by path limit ${limit}))
      and not exists (select from catalogues c where c.id = ${catalogue} and c.mode = 'CONTENT' and c.provider_id is not null)`.execute(
    db,
  )
  return Number(numAffectedRows)
}

/** The number of files of a catalogue that are counted. */
export const maxCounted = 10_000

export interface ContentCounts {
  /** At most `maxCounted`. */
  waiting: number
  failed: number
}

/** Counts the files of catalogues that wait to be read, and those that cannot be read. */
export async function countContents(db: Database, catalogues: readonly number[]): Promise<Map<number, ContentCounts>> {
  const counted = (state: string) => sql`(
    select count(*)::integer from (
      select from catalogue_contents x where x.catalogue = c.id and x.state = ${sql.lit(state)} limit ${maxCounted}) x)`
  const { rows } = await sql<ContentCounts & { id: number }>`
    select c.id, ${counted('WAITING')} + (c.content_next is not null)::integer as waiting, ${counted('FAILED')} as failed
    from unnest(${catalogues}::integer[]) i (id) join catalogues c on c.id = i.id`.execute(db)
  return new Map(rows.map(({ id, ...counts }) => [id, counts]))
}

/** The key of a file in a result. */
export interface ContentKey {
  catalogue: number
  path: string
}

/** Returns the texts of files, in no particular order. */
export async function findContents(
  db: Database,
  keys: readonly ContentKey[],
): Promise<(ContentKey & { content: string })[]> {
  const { rows } = await sql<ContentKey & { content: string }>`
    select c.catalogue, c.path, c.content
    from unnest(${keys.map(({ catalogue }) => catalogue)}::integer[], ${keys.map(({ path }) => path)}::text[]) k (catalogue, path)
    join catalogue_contents c on c.catalogue = k.catalogue and c.path = k.path
    where c.state = 'DONE'`.execute(db)
  return rows
}

/**
 * The reports of back ends about changes. One server asks each back end, as long as it renews its row in `catalogue_servers`: some back
 * ends tell the same process only. A server that has lost that right stores nothing.
 */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import { secondsFromNow } from '../claims.ts'
import type { Database } from '../client.ts'
import { addTrees } from './changes.ts'

/** The right of a server to ask the back end of a catalogue. */
export interface Feed {
  catalogue: number
  providerId: string
  cursor: string | null
}

/** A report of a back end about changes. */
export interface FeedReport {
  cursor: string
  /** Paths to look at. */
  paths: readonly StoragePath[]
  /** Hashes of the ids of entries, to look at where they are known to be. */
  fileIds: readonly string[]
  /** Folders to list, with everything below them. */
  trees: readonly StoragePath[]
  /** Everything has to be compared. A round that has just begun may begin again. */
  everything: 'no' | 'soon' | 'from the beginning'
}

/** Takes the catalogues whose back ends no living server asks. */
export async function claimFeeds(db: Database, server: string): Promise<void> {
  const isLiving = (id: RawBuilder<string>) => sql<boolean>`exists (select from catalogue_servers s where s.id = ${id})`
  await db
    .updateTable('catalogues')
    .set({ changes_server: server })
    .where('mode', '!=', 'OFF')
    .where('provider_id', 'is not', null)
    .where(sql<boolean>`(changes_server is null or not ${isLiving(sql`changes_server`)})`)
    .where(sql<boolean>`(changes_retry_at is null or changes_retry_at <= now())`)
    .where(isLiving(sql`${server}::uuid`))
    .execute()
}

export async function listFeeds(db: Database, server: string): Promise<Feed[]> {
  const rows = await db
    .selectFrom('catalogues')
    .select(['id', 'provider_id', 'changes_cursor'])
    .where('changes_server', '=', server)
    .where('mode', '!=', 'OFF')
    .execute()
  return rows.flatMap(({ id, provider_id: providerId, changes_cursor: cursor }) =>
    providerId === null ? [] : { catalogue: id, providerId, cursor },
  )
}

/** Lets another server ask, in some seconds. */
export async function releaseFeed(db: Database, { catalogue }: Feed, server: string, seconds: number): Promise<void> {
  await db
    .updateTable('catalogues')
    .set({ changes_server: null, changes_retry_at: secondsFromNow(seconds) })
    .where('id', '=', catalogue)
    .where('changes_server', '=', server)
    .execute()
}

/** The maximum number of changes of one catalogue that were not looked at yet. If there are more, everything is compared. */
const maxWaiting = 20_000

/** Stores a report. @returns false if the server has lost the right to ask */
export async function storeReport(
  db: Database,
  { catalogue }: Feed,
  server: string,
  report: FeedReport,
): Promise<boolean> {
  return db.transaction().execute(async trx => {
    const { numUpdatedRows } = await trx
      .updateTable('catalogues')
      .set({ changes_cursor: report.cursor, changes_retry_at: null })
      .where('id', '=', catalogue)
      .where('changes_server', '=', server)
      .where('mode', '!=', 'OFF')
      .where('provider_id', 'is not', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    if (report.everything !== 'no') await compareSoon(trx, catalogue, report.everything === 'from the beginning')
    else if (await hasRoom(trx, catalogue, report)) await addReported(trx, catalogue, report)
    else await compareSoon(trx, catalogue, false)
    return true
  })
}

async function hasRoom(db: Database, catalogue: number, { paths, fileIds, trees }: FeedReport): Promise<boolean> {
  if (paths.length + fileIds.length + trees.length === 0) return true
  const { rows } = await sql<{ waiting: number }>`
    select count(*)::integer as waiting from (
      select from catalogue_changes where catalogue = ${catalogue} and is_outside limit ${maxWaiting}) w`.execute(db)
  return (rows[0]?.waiting ?? 0) < maxWaiting
}

async function addReported(db: Database, catalogue: number, { paths, fileIds, trees }: FeedReport): Promise<void> {
  if (paths.length + fileIds.length + trees.length === 0) return
  await sql`
    insert into catalogue_changes (catalogue, kind, path, is_outside)
    select ${catalogue}, 'ENTRY', r.path, true from (
      select unnest(${paths}::text[]) collate "C" as path
      union
      select e.path from catalogue_entries e where e.catalogue = ${catalogue} and e.file_id = any(${fileIds}::bigint[])
    ) r
    where r.path <> '' and not exists (select from catalogue_changes c
      where c.catalogue = ${catalogue} and c.kind = 'ENTRY' and c.path = r.path)`.execute(db)
  await addTrees(db, catalogue, trees, true)
}

/** Lets the next round begin soon, instead of what waits to be looked at. */
async function compareSoon(db: Database, catalogue: number, fromBeginning: boolean): Promise<void> {
  await db.deleteFrom('catalogue_changes').where('catalogue', '=', catalogue).where('is_outside', '=', true).execute()
  const restarts = sql<boolean>`${fromBeginning} and round_started_at > now() - interval '1 minute'`
  await db
    .updateTable('catalogues')
    .set({
      next_round_at: sql`case when round_started_at is null and indexed_at is null then next_round_at else now() end`,
      round_started_at: sql`case when ${restarts} then null else round_started_at end`,
      lease_id: sql`case when ${restarts} then null else lease_id end`,
      lease_until: sql`case when ${restarts} then null else lease_until end`,
    })
    .where('id', '=', catalogue)
    .execute()
}

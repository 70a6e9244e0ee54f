/** Counts that all replicas share. A window begins with its first hit, by the clock of the database. */
import { sql } from 'kysely'
import type { Database } from './client.ts'

export interface Hits {
  key: Buffer
  hits: number
  /** Length of the window in milliseconds. It does not extend an open window. */
  window: number
}

export interface Total {
  /** The hits in this window, including those just added. */
  hits: number
  /** Milliseconds until the window ends. */
  remaining: number
}

/** Adds hits in one statement, each key at most once. Returns the totals in the order of `added`. */
export async function addHits(db: Database, added: readonly Hits[]): Promise<Total[]> {
  const { rows } = await sql<Total & { key: Buffer }>`
    insert into rate_limits as old (key, hits, ends_at)
    select added.key, added.hits, now() + added.length * interval '1 millisecond'
    from unnest(
      ${added.map(({ key }) => key)}::bytea[],
      ${added.map(({ hits }) => hits)}::int[],
      ${added.map(({ window }) => window)}::float8[]
    ) as added (key, hits, length)
    -- Two replicas that lock the same rows do so in the same order.
    order by added.key
    on conflict (key) do update set
      hits = case when old.ends_at > now() then old.hits else 0 end + excluded.hits,
      ends_at = case when old.ends_at > now() then old.ends_at else excluded.ends_at end
    returning key, hits, extract(epoch from ends_at - now())::float8 * 1000 as remaining`.execute(db)
  const totals = new Map(rows.map(({ key, hits, remaining }) => [key.toString('hex'), { hits, remaining }]))
  return added.map(({ key }) => totals.get(key.toString('hex')) ?? { hits: 0, remaining: 0 })
}

export async function removeHits(db: Database, key: Buffer, hits: number): Promise<void> {
  await sql`update rate_limits set hits = greatest(hits - ${hits}, 0) where key = ${key}`.execute(db)
}

export async function forgetHits(db: Database, key: Buffer): Promise<void> {
  await db.deleteFrom('rate_limits').where('key', '=', key).execute()
}

export async function hasHits(db: Database, key: Buffer): Promise<boolean> {
  const query = db.selectFrom('rate_limits').select('hits').where('key', '=', key)
  return (await query.where('ends_at', '>', sql<Date>`now()`).executeTakeFirst()) !== undefined
}

export async function deleteEndedRateLimits(db: Database): Promise<void> {
  const ended = db.selectFrom('rate_limits').select('key').where('ends_at', '<=', sql<Date>`now()`)
  // Skips locked rows, so that it cannot deadlock with `addHits`.
  await db.deleteFrom('rate_limits').where('key', 'in', ended.forUpdate().skipLocked()).execute()
}

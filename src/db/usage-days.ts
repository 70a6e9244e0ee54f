/** The usage of providers on each day: the sums of their catalogues. One server at a time adds up a catalogue. */
import { type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Database } from './client.ts'

/** Days that usage is kept: 13 months. */
export const keptDays = 396
/** Days for which the last known usage of a provider counts on. Longer than a server is usually off. */
const countsOnDays = 7
/** The days over which growth is measured. */
export const growthDays = 30

/** Seconds between two sums, also after one that failed. The last one of a day stays. */
const interval = 6 * 60 * 60
/** Milliseconds. A catalogue can have a million folders. */
const timeout = 60_000

/** A provider is unknown until it was listed once. */
const isCounted = sql`waiting.provider_id is not null and waiting.mode <> 'OFF' and waiting.indexed_at is not null`
const isDue = sql<SqlBool>`waiting.usage_due_at <= now() and ${isCounted}`

export function isAnyUsageDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'catalogues', isDue)
}

/** Returns the id of a catalogue to add up, which nobody adds up again before the interval has passed. */
export async function claimUsage(db: Database): Promise<number | null> {
  const [row] = await claimRows(db, 'catalogues', {
    dueKeys: dueRows('catalogues', { isDue, orderBy: sql`waiting.usage_due_at` }),
    set: sql`usage_due_at = ${secondsFromNow(interval)}`,
  })
  return row?.id ?? null
}

/** Stores the sums of a catalogue for the present day. Safe to repeat. */
export async function storeUsage(db: Database, catalogue: number): Promise<void> {
  await db.transaction().execute(async trx => {
    await sql`select set_config('statement_timeout', ${String(timeout)}, true)`.execute(trx)
    await sql`
      insert into usage_days (provider_id, day, files, bytes)
      select p.id, (now() at time zone 'utc')::date, s.files, s.bytes
      from catalogues waiting join providers p on p.id = waiting.provider_id
      cross join lateral (
        select coalesce(sum(f.files), 0) as files, coalesce(sum(f.bytes), 0) as bytes
        from catalogue_folders f where f.catalogue = waiting.id
      ) s
      where waiting.id = ${catalogue} and ${isCounted}
      for key share of p
      on conflict (provider_id, day) do update set files = excluded.files, bytes = excluded.bytes`.execute(trx)
  })
}

export async function deleteOldUsage(db: Database): Promise<void> {
  await sql`delete from usage_days where day < (now() at time zone 'utc')::date - ${keptDays}::integer`.execute(db)
}

/** The usage of all providers of a workspace, or of one of them, on a day. */
export interface UsageDay {
  /** The midnight of UTC with which the day begins. */
  day: Date
  files: number
  bytes: number
}

/** Returns the days of which something is known, the oldest first. @param providerId null for all providers */
export async function listUsageDays(
  db: Database,
  workspaceId: string,
  { days, providerId }: { days: number; providerId: string | null },
): Promise<UsageDay[]> {
  const isAsked = providerId === null ? sql`true` : sql`p.id = ${providerId}`
  const { rows } = await sql<{ day: Date; files: string; bytes: string }>`
    select d.day at time zone 'utc' as day, sum(u.files) as files, sum(u.bytes) as bytes
    from (
      select (now() at time zone 'utc')::date - n as day from generate_series(0, ${days}::integer - 1) n
    ) d
    cross join providers p
    cross join lateral (
      select u.files, u.bytes from usage_days u
      where u.provider_id = p.id and u.day <= d.day and u.day > d.day - ${countsOnDays}::integer
      order by u.day desc limit 1
    ) u
    where p.workspace_id = ${workspaceId} and ${isAsked}
    group by d.day order by d.day`.execute(db)
  return rows.map(({ day, files, bytes }) => ({ day, files: Number(files), bytes: Number(bytes) }))
}

/** The usage of a provider at present. */
export interface ProviderUsage {
  files: number
  bytes: number
  /** The bytes that were added in `growthDays`, negative if there are fewer now; null if nothing is known from then. */
  addedBytes: number | null
}

/** Returns the last known usage by the ids of providers. Those that were never counted are missing. */
export async function listProviderUsage(db: Database, workspaceId: string): Promise<Map<string, ProviderUsage>> {
  const { rows } = await sql<{ id: string; files: string; bytes: string; added: string | null }>`
    select p.id, u.files, u.bytes, u.bytes - earlier.bytes as added
    from providers p
    cross join lateral (
      select day, files, bytes from usage_days where provider_id = p.id order by day desc limit 1
    ) u
    left join lateral (
      select bytes from usage_days
      where provider_id = p.id and day <= u.day - ${growthDays}::integer
        and day > u.day - ${growthDays + countsOnDays}::integer
      order by day desc limit 1
    ) earlier on true
    where p.workspace_id = ${workspaceId}`.execute(db)
  return new Map(
    rows.map(({ id, files, bytes, added }) => [
      id,
      { files: Number(files), bytes: Number(bytes), addedBytes: added === null ? null : Number(added) },
    ]),
  )
}

/** Locks that all replicas share. A holder that is killed loses its locks after `leaseSeconds`. */
import { sql } from 'kysely'
import { type Database, executePrepared } from './client.ts'

/** Seconds that a lock lasts without being renewed. */
const leaseSeconds = 30

/** Milliseconds between renewals. */
export const renewalInterval = (leaseSeconds * 1000) / 5

/** Takes the keys that no other holder has, in one statement. Returns those keys, in hex. */
export async function takeLocks(db: Database, keys: readonly Buffer[], holder: string): Promise<Set<string>> {
  const query = sql<{ key: Buffer }>`
    insert into locks as old (key, holder, ends_at)
    select wanted.key, ${holder}, now() + make_interval(secs => ${leaseSeconds})
    from unnest(${keys}::bytea[]) as wanted (key)
    -- Replicas that want the same keys lock the rows in the same order.
    order by wanted.key
    on conflict (key) do update set holder = excluded.holder, ends_at = excluded.ends_at
      where old.ends_at <= now() or old.holder = excluded.holder
    returning key`
  const rows = await executePrepared(db, query)
  return new Set(rows.map(({ key }) => key.toString('hex')))
}

export async function renewLocks(db: Database, holder: string): Promise<void> {
  await sql`
    update locks set ends_at = now() + make_interval(secs => ${leaseSeconds})
    where key in (select key from locks where holder = ${holder} order by key for update)`.execute(db)
}

export async function releaseLocks(db: Database, keys: readonly Buffer[], holder: string): Promise<void> {
  const query = sql`
    delete from locks where key in (
      select key from locks where key = any(${keys}::bytea[]) and holder = ${holder} order by key for update
    )`
  await executePrepared(db, query)
}

/** Deletes the expired locks of killed holders. */
export async function deleteEndedLocks(db: Database): Promise<void> {
  const ended = db.selectFrom('locks').select('key').where('ends_at', '<=', sql<Date>`now()`)
  await db.deleteFrom('locks').where('key', 'in', ended.forUpdate().skipLocked()).execute()
}

import { sql } from 'kysely'
import type { Database } from '../../src/db/client.ts'

/** Locks a table until the returned function is called. @param mode as PostgreSQL's LOCK TABLE takes it */
export async function lockTable(
  db: Database,
  table: 'audit_events' | 'rate_limits' | 'sessions',
  mode: 'access exclusive' | 'share' = 'access exclusive',
): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const lock = db.transaction().execute(async trx => {
    await sql`lock table ${sql.table(table)} in ${sql.raw(mode)} mode`.execute(trx)
    locked.resolve()
    await release.promise
  })
  await Promise.race([locked.promise, lock])
  return async () => {
    release.resolve()
    await lock
  }
}

import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../src/db/client.ts'
import { until } from './until.ts'

export interface HeldLocks {
  /** Resolves when `count` other transactions wait for locks. */
  blocks(count: number): Promise<void>
  commit(): Promise<void>
}

/** Runs a statement in a transaction that stays open, so that other transactions wait for the rows that it changes or locks. */
export async function holdLocks(db: Database, statement: RawBuilder<unknown>): Promise<HeldLocks> {
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holding = db.transaction().execute(async trx => {
    await statement.execute(trx)
    held.resolve()
    await release.promise
  })
  await Promise.race([held.promise, holding])
  return {
    blocks: count =>
      until(async () => {
        const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
          where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`.execute(db)
        return rows[0]?.count === count || rows
      }),
    async commit() {
      release.resolve()
      await holding
    },
  }
}

/**
 * Databases that the servers of one test process use one after the other, with their connections: a new database and its
 * connections take PostgreSQL a third of a second of processor time. A server gets an empty one, as from `testDatabase`. Databases
 * that a test has changed too much are dropped.
 */
import type pg from 'pg'
import { type Database, type DatabaseOptions, databaseOver, openPool, type Pool } from '../../src/db/client.ts'
import { createDatabase, type NewDatabase } from '../servers/postgres.ts'
import { until } from './until.ts'

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export interface KeptDatabase {
  connectionString: string
  /** Connects another server, with up to four connections. */
  connect(options: Pick<DatabaseOptions, 'onQuery'>): Database
}

interface Kept extends NewDatabase {
  /** The connections of servers that have ended. */
  pools: pg.Pool[]
}

const idle: Kept[] = []
/** Milliseconds until the connections of a server that has ended are closed. */
const closing = 2_000

/** Returns an empty database for a test and its servers, which have to end before the test does. */
export async function keptDatabase(t: Scope): Promise<KeptDatabase> {
  const kept: Kept = idle.pop() ?? { ...(await createDatabase()), pools: [] }
  const { connectionString, pools } = kept
  t.teardown(async () => {
    if (await isReset(kept)) {
      idle.push(kept)
      return
    }
    await kept.drop()
    await Promise.all(pools.map(pool => pool.end()))
  })
  return {
    connectionString,
    connect(options) {
      const pool = pools.pop() ?? openConnections(connectionString)
      const shared: Pool = {
        options: pool.options,
        connect: () => pool.connect(),
        async end() {
          // A connection that stays in use is noticed when the test ends.
          await until(() => isIdle(pool), { within: closing }).catch(() => undefined)
          pools.push(pool)
        },
        get totalCount() {
          return pool.totalCount
        },
        get idleCount() {
          return pool.idleCount
        },
        get waitingCount() {
          return pool.waitingCount
        },
      }
      return databaseOver(shared, { connectionString }, options)
    },
  }
}

function openConnections(connectionString: string): pg.Pool {
  // On a busy machine, many requests that share few connections wait for long.
  const pool = openPool({ connectionString }, { max: 4, connectTimeout: 60_000 })
  pool.options.allowExitOnIdle = true
  return pool
}

function isIdle({ totalCount, idleCount }: pg.Pool): boolean {
  return totalCount === idleCount
}

/** Returns false if the database or its connections cannot be used again. */
async function isReset({ pools, reset }: Kept): Promise<boolean> {
  const [pool] = pools
  if (reset === null || !pool || !pools.every(isIdle)) return false
  try {
    const client = await pool.connect()
    try {
      await until(
        async () => {
          const { rows } = await client.query<{ count: number }>(
            'select pg_stat_get_db_numbackends(oid) as count from pg_database where datname = current_database()',
          )
          return Number(rows[0]?.count) <= pools.reduce((sum, { totalCount }) => sum + totalCount, 0)
        },
        { within: closing },
      )
      await client.query(reset)
      return true
    } finally {
      client.release()
    }
  } catch {
    return false
  }
}

import { sql } from 'kysely'
import type { Database } from '../../db/client.ts'
import { migrationState } from '../../db/migrate.ts'
import type { Settings } from '../../settings/index.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** Connections of each server process. */
const connectionsOfProcess = 10
/** Milliseconds. */
const slowQuery = 20
/** Milliseconds. Sessions, leases and signed requests to back ends need clocks that agree. */
const maxClockDifference = 5000

/** @returns what was found, and whether the tables can be read */
export async function checkDatabase(
  db: Database,
  settings: Settings,
): Promise<{ findings: Finding[]; isUsable: boolean }> {
  const { version, maxConnections } = await serverFacts(db)
  const times = [await queryTime(db), await queryTime(db), await queryTime(db)]
  const [, median = 0] = times.toSorted((a, b) => a - b)
  const { pending, unknown } = await migrationState(db)
  const needed = settings.processes * connectionsOfProcess
  const findings = [
    ok('Database', `PostgreSQL ${version} responds in ${median.toFixed(1)} ms.`),
    ...(median > slowQuery ? [warning('Database', 'It is far away: each request waits for it at least once.')] : []),
    ...(needed > maxConnections / 2
      ? [
          warning(
            'Database',
            `Each server uses up to ${needed} of its ${maxConnections} connections: raise max_connections, or lower STOWAGE_PROCESSES.`,
          ),
        ]
      : []),
    ...(unknown.length > 0
      ? [problem('Database', `A newer Stowage has changed it (${unknown.join(', ')}): run that version.`)]
      : []),
    ...(pending.length > 0
      ? [warning('Database', `The next start of the server changes it (${pending.length} steps): back it up first.`)]
      : []),
    await checkClock(db),
  ]
  return { findings, isUsable: pending.length === 0 && unknown.length === 0 }
}

async function serverFacts(db: Database): Promise<{ version: string; maxConnections: number }> {
  const { rows } = await sql<{ version: string; connections: number }>`
    select current_setting('server_version') as version, current_setting('max_connections')::int as connections`.execute(
    db,
  )
  return { version: rows[0]?.version ?? '', maxConnections: rows[0]?.connections ?? 0 }
}

async function queryTime(db: Database): Promise<number> {
  const begin = performance.now()
  await sql`select 1`.execute(db)
  return performance.now() - begin
}

async function checkClock(db: Database): Promise<Finding> {
  const begin = Date.now()
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  const difference = Math.abs((rows[0]?.now.getTime() ?? 0) - (begin + Date.now()) / 2)
  return difference > maxClockDifference
    ? problem('Clock', `It differs from that of the database by ${Math.round(difference / 1000)} s: use NTP on both.`)
    : ok('Clock', 'It agrees with that of the database.')
}

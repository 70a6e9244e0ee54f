/** Serves the databases of one test run: `node postgres-host.ts <folder of the run> <identity of the run's process>`. */
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { connect } from '../../src/db/client.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded/index.ts'
import { processesIn } from '../../src/db/embedded/processes.ts'
import { migrate } from '../../src/db/migrate.ts'
import { administer, type HostServer, RUN_PREFIX } from './postgres.ts'
import { resetStatements } from './reset.ts'
import { serveRun } from './run.ts'

interface Stoppable {
  adminUrl: string
  user: string
  stop(): Promise<void>
}

/** Settings for speed, as nothing has to survive a power cut. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  checkpoint_timeout: '1h',
  bgwriter_lru_maxpages: '0',
  wal_writer_delay: '1s',
  jit: 'off',
  autovacuum: 'off',
  max_connections: '300',
}
const STRATEGY_SINCE = 15

async function start(folder: string): Promise<{ record: HostServer; stop: () => Promise<void> }> {
  const server = process.env.TEST_DATABASE_URL ? given(process.env.TEST_DATABASE_URL) : await embedded(folder)
  try {
    const record = await makeTemplate(server)
    const stop = () => dropAll(record).finally(server.stop)
    return { record, stop }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function embedded(folder: string): Promise<Stoppable> {
  const log = (message: string, details?: object) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`)
  const server = await startEmbeddedPostgres({ dataFolder: folder, log, settings: SETTINGS })
  server.onExit(reason => {
    process.stderr.write(`${reason}\n`)
    process.exit(1)
  })
  const { host, port, user } = server.connection
  const parameters = new URLSearchParams({ host, port: String(port) })
  return { adminUrl: `postgresql://postgres@localhost/postgres?${parameters}`, user, stop: server.stop }
}

function given(url: string): Stoppable {
  return { adminUrl: url, user: decodeURIComponent(new URL(url).username), stop: async () => undefined }
}

async function makeTemplate({ adminUrl, user }: Stoppable): Promise<HostServer> {
  const template = `stowage_test_${Date.now().toString(36)}_${process.pid}`
  await administer({ adminUrl }, `CREATE DATABASE ${template} OWNER ${user}`)
  const url = new URL(adminUrl)
  url.username = user
  url.pathname = `/${template}`
  const db = connect({ connectionString: url.href }, { max: 2 })
  try {
    await migrate(db)
    // Tests are often about people who have registered without an invite. Those of the registration itself put the default back.
    await sql`ALTER TABLE workspaces ALTER COLUMN registration SET DEFAULT 'OPEN'`.execute(db)
    await sql`VACUUM (FREEZE)`.execute(db)
  } finally {
    await db.destroy()
  }
  const reset = await resetOf(adminUrl, url.href, user)
  // The first connection after the migrations stores what PostgreSQL reads from its catalogs, which the copies then contain.
  await column(url.href, 'SELECT 1 AS value')
  await administer({ adminUrl }, `ALTER DATABASE ${template} WITH is_template true allow_connections false`)
  const strategy = (await majorOf(adminUrl)) >= STRATEGY_SINCE ? ' STRATEGY file_copy' : ''
  return { adminUrl, user, template, strategy, reset }
}

/**
 * Returns the statements that give a copy of the template its first rows again, for a role that may switch triggers and foreign
 * keys off; null before PostgreSQL 15, in which only superusers may.
 */
async function resetOf(adminUrl: string, url: string, user: string): Promise<string | null> {
  if ((await majorOf(adminUrl)) < 15) return null
  await administer({ adminUrl }, `GRANT SET ON PARAMETER session_replication_role TO ${user}`)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await resetStatements(client)
  } finally {
    await client.end()
  }
}

async function dropAll(server: HostServer): Promise<void> {
  await administer(server, `ALTER DATABASE ${server.template} WITH is_template false`)
  const names = await column(
    server.adminUrl,
    `SELECT datname AS value FROM pg_database WHERE starts_with(datname, '${server.template}')`,
  )
  for (const name of names) await administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
}

async function majorOf(url: string): Promise<number> {
  const [version] = await column(url, "SELECT current_setting('server_version_num') AS value")
  return Math.floor(Number(version) / 10_000)
}

async function column(url: string, query: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<{ value: string }>(query)).rows.map(row => row.value)
  } finally {
    await client.end()
  }
}

await serveRun(RUN_PREFIX, start, {
  isBusy: async folder => (await processesIn(join(folder, 'postgres/data'))).length > 0,
})

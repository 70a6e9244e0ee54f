/** Serves the databases of one test run: `node postgres-host.ts <folder of the run> <identity of the run's process>`. */
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connect } from '../../src/db/client.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded/index.ts'
import { processesIn } from '../../src/db/embedded/processes.ts'
import { migrate } from '../../src/db/migrate.ts'
import { administer, type HostRecord, type HostServer, identityOf, RUN_PREFIX, runsFolder } from './postgres.ts'

interface Stoppable {
  adminUrl: string
  user: string
  stop(): Promise<void>
}

/** Nothing here has to survive a power cut. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '200',
}
const POLL_MS = 200
const STRATEGY_SINCE = 15

async function host(folder: string, run: string): Promise<void> {
  try {
    await sweep()
    const server = process.env.TEST_DATABASE_URL ? given(process.env.TEST_DATABASE_URL) : await embedded(folder)
    try {
      const template = await makeTemplate(server)
      await publish(folder, template)
      while (await isAlive(run)) await sleep(POLL_MS)
      await dropAll(template)
    } finally {
      await server.stop()
    }
  } catch (error) {
    process.exitCode = 1
    await publish(folder, { error: String(error) })
    while (await isAlive(run)) await sleep(POLL_MS)
  } finally {
    await rm(folder, { recursive: true, force: true })
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
  } finally {
    await db.destroy()
  }
  await administer({ adminUrl }, `ALTER DATABASE ${template} WITH is_template true allow_connections false`)
  const strategy = (await majorOf(adminUrl)) >= STRATEGY_SINCE ? ' STRATEGY file_copy' : ''
  return { adminUrl, user, template, strategy }
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

async function publish(folder: string, record: HostRecord): Promise<void> {
  const partial = join(folder, 'server.json.new')
  await writeFile(partial, JSON.stringify(record), { mode: 0o600 })
  await rename(partial, join(folder, 'server.json'))
}

/** Folders that a killed host left. */
async function sweep(): Promise<void> {
  const runs = runsFolder()
  for (const name of await readdir(runs)) {
    if (!name.startsWith(RUN_PREFIX) || (await isAlive(name.slice(RUN_PREFIX.length)))) continue
    const folder = join(runs, name)
    const stopping = (await processesIn(join(folder, 'postgres/data'))).length > 0
    if (!stopping) await rm(folder, { recursive: true, force: true }).catch(() => undefined) // another user's
  }
}

async function isAlive(run: string): Promise<boolean> {
  return (await identityOf(Number.parseInt(run, 10))) === run
}

const [, , folder, run] = process.argv
if (folder !== undefined && run !== undefined) await host(folder, run)

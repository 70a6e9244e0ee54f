/**
 * One PostgreSQL per test run (postgres-host.ts), one migrated database per call. `TEST_DATABASE_URL` names another server
 * (PostgreSQL 14 or newer, a role with CREATEDB).
 */
import pg from 'pg'
import { type RunServer, serverOfThisRun } from './run.ts'

/** The record that the host publishes when the template exists. */
export interface HostServer {
  /** The URL of a role that can create databases. */
  adminUrl: string
  /** The URL for tests: the same server, with the role that owns the tables. */
  user: string
  template: string
  /** The end of the statement CREATE DATABASE ... TEMPLATE. */
  strategy: string
  /** The statements that give a copy of the template its first rows again; null where the role may not. */
  reset: string | null
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export const RUN_PREFIX = 'stowage-test-'
const testDatabaseServer: RunServer = {
  prefix: RUN_PREFIX,
  what: 'test database',
  host: new URL('postgres-host.ts', import.meta.url),
  startTimeout: 60_000,
  environment: ['TEST_DATABASE_URL', 'NODE_EXTRA_CA_CERTS'],
}
let count = 0
/** Connections that the tests of a file share, because a new one takes as long as the creation of a database. */
let administrators: pg.Pool | undefined

function administratorsOf({ adminUrl }: HostServer): pg.Pool {
  const pool = new pg.Pool({ connectionString: adminUrl, max: 2, allowExitOnIdle: true })
  // The pool replaces a connection that ends while nobody uses it.
  pool.on('error', () => undefined)
  return pool
}

export interface NewDatabase {
  connectionString: string
  /** As in `HostServer`. */
  reset: string | null
  drop(): Promise<void>
}

/** A fresh database with all migrations in it, dropped when `t` ends. */
export async function testDatabase(t: Scope): Promise<{ connectionString: string }> {
  const { connectionString, drop } = await createDatabase()
  t.teardown(drop)
  return { connectionString }
}

/** Copies the template. */
export async function createDatabase(): Promise<NewDatabase> {
  const server = await serverOfThisRun<HostServer>(testDatabaseServer)
  count += 1
  const name = `${server.template}_${process.pid}_${count}`
  const { template, user, strategy } = server
  administrators ??= administratorsOf(server)
  const pool = administrators
  await pool.query(`CREATE DATABASE ${name} TEMPLATE ${template} OWNER ${user}${strategy}`)
  const drop = async () => {
    await pool.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
  const url = new URL(server.adminUrl)
  if (url.username !== server.user) url.username = server.user
  url.pathname = `/${name}`
  return { connectionString: url.href, reset: server.reset, drop }
}

/** The settings with which a program uses a fresh database. Creating an embedded database for each test takes long. */
export async function databaseSettings(t: Scope): Promise<{ DATABASE_URL: string; STOWAGE_SECRET: string }> {
  const { connectionString } = await testDatabase(t)
  return { DATABASE_URL: connectionString, STOWAGE_SECRET: 'a secret that only these tests have' }
}

export async function administer({ adminUrl }: { adminUrl: string }, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

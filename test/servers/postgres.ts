/**
 * One PostgreSQL per test run, one migrated database per call.
 *
 * The first test file of a run that asks starts a detached host (postgres-host.ts), which serves the whole run and ends by
 * itself when the run's process is gone, however it went. Under tap that process is the runner; a file that is run by
 * itself is its own run. `TEST_DATABASE_URL` names another server (PostgreSQL 14 or newer, a role with CREATEDB).
 */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

/** What the host writes once the template is there. */
export type HostRecord = { error: string } | HostServer

export interface HostServer {
  /** A role that may create databases. */
  adminUrl: string
  /** For tests: the same server, the role that owns the tables. */
  user: string
  template: string
  /** Ends CREATE DATABASE ... TEMPLATE. */
  strategy: string
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

const HOST = fileURLToPath(new URL('postgres-host.ts', import.meta.url))
const WAIT_MS = 60_000
const POLL_MS = 15
/** proc_pid_stat(5): field 22, counted from the one after the state. */
const START_TIME = 18
export const RUN_PREFIX = 'stowage-test-'
let count = 0

/** A fresh database with all migrations in it, dropped when `t` ends. */
export async function testDatabase(t: Scope): Promise<{ connectionString: string }> {
  const server = await serverOfThisRun()
  count += 1
  const name = `${server.template}_${process.pid}_${count}`
  await administer(server, `CREATE DATABASE ${name} TEMPLATE ${server.template} OWNER ${server.user}${server.strategy}`)
  t.teardown(() => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  const url = new URL(server.adminUrl)
  if (url.username !== server.user) url.username = server.user
  url.pathname = `/${name}`
  return { connectionString: url.href }
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

/** Folders of runs lie here: in memory where there is a tmpfs. */
export function runsFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}

/** Tells a process from a later one with the same id, where that can be done; undefined for one that is gone, or a zombie. */
export async function identityOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === '' || state === 'Z' || state === 'X' ? undefined : `${pid}-${fields[START_TIME]}`
  }
  try {
    process.kill(pid, 0)
    return `${pid}-0`
  } catch {
    return undefined
  }
}

async function serverOfThisRun(): Promise<HostServer> {
  const run = await identityOf(process.env.TAP_CHILD_KEY === undefined ? process.pid : process.ppid)
  if (run === undefined) throw new Error('The test runner is gone.')
  const folder = join(runsFolder(), `${RUN_PREFIX}${run}`)
  if (await isFirst(folder)) await startHost(folder, run)
  for (const end = performance.now() + WAIT_MS; performance.now() < end; await sleep(POLL_MS)) {
    const record = await readFile(join(folder, 'server.json'), 'utf8').catch(() => undefined)
    if (record === undefined) continue
    const server = JSON.parse(record) as HostRecord
    if ('error' in server) throw new Error(`The test database could not be made: ${server.error}`)
    return server
  }
  const log = await readFile(join(folder, 'host.log'), 'utf8').catch(() => '')
  throw new Error(`The test database was not ready after ${WAIT_MS} ms. Its host said: ${log.slice(-2_000)}`)
}

async function isFirst(folder: string): Promise<boolean> {
  return mkdir(folder, { mode: 0o700 }).then(
    () => true,
    error => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
}

async function startHost(folder: string, run: string): Promise<void> {
  const log = await open(join(folder, 'host.log'), 'a')
  const { TEST_DATABASE_URL, PATH, NODE_EXTRA_CA_CERTS } = process.env
  const env = { TEST_DATABASE_URL, PATH, NODE_EXTRA_CA_CERTS }
  const options = { detached: true, env, stdio: ['ignore', log.fd, log.fd] as const }
  spawn(process.execPath, [HOST, folder, run], { ...options, stdio: [...options.stdio] }).unref()
  await log.close()
}

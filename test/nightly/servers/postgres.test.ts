import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { connect } from '../../../src/db/client.ts'
import { startEmbeddedPostgres } from '../../../src/db/embedded/index.ts'
import { isMigrated } from '../../../src/db/migrate.ts'
import { RUN_PREFIX, testDatabase } from '../../servers/postgres.ts'
import { identityOf } from '../../servers/run.ts'
import { memoryFolder } from '../../support/memory-folder.ts'
import { until } from '../../support/until.ts'

t.test('each database is migrated, writable and separate', async t => {
  const [one, two] = [connect(await testDatabase(t)), connect(await testDatabase(t))]
  t.teardown(() => Promise.all([one.destroy(), two.destroy()]))
  t.equal(await isMigrated(one), true)
  await sql`insert into workspaces (name) values ('one')`.execute(one)
  t.equal((await sql`select 1 from workspaces`.execute(one)).rows.length, 1)
  t.equal((await sql`select 1 from workspaces`.execute(two)).rows.length, 0)
})

t.test('all files of a run share one server', async t => {
  const files = [1, 2, 3].map(() => databaseUser(t, { TAP_CHILD_KEY: '1' }))
  const found = await Promise.all(files.map(file => file.answer))
  t.equal(new Set(found.map(one => one.server)).size, 1)
  t.equal(new Set(found.map(one => one.name)).size, 3)
  t.ok(found.every(one => one.migrated))
  for (const file of files) t.equal(await file.end(), 0)
})

t.test('a killed run leaves no server and no folder', async t => {
  const file = databaseUser(t)
  await file.answer
  const run = await identityOf(file.child.pid ?? 0)
  const mine = async () => (await readdir(memoryFolder())).filter(name => name === `${RUN_PREFIX}${run}`)
  t.equal((await mine()).length, 1)
  file.child.kill('SIGKILL')
  for (let waited = 0; (await mine()).length > 0 && waited < 10_000; waited += 50) await sleep(50)
  t.same(await mine(), [])
})

t.test('a killed runner leaves no test file, no program of one and no server', async t => {
  const file = databaseUser(t, { TAP_CHILD_KEY: '1' }, ['sh', '-c', '"$0" "$1"; true'])
  await file.answer
  const run = await identityOf(file.child.pid ?? 0)
  file.child.kill('SIGKILL')
  // The output ends when the test file and its program have ended, because both have it open.
  await until(() => file.child.stdout?.readableEnded)
  await until(async () => (await readdir(memoryFolder())).every(name => name !== `${RUN_PREFIX}${run}`))
})

t.test('a server from the environment is not changed', async t => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'stowage-given-'))
  const server = await startEmbeddedPostgres({ dataFolder, log: () => undefined, settings: { fsync: 'off' } })
  t.teardown(async () => {
    await server.stop()
    await rm(dataFolder, { recursive: true })
  })
  const { host, port } = server.connection
  const url = `postgresql://postgres@localhost/postgres?${new URLSearchParams({ host, port: String(port) })}`
  const before = await databases(url)
  const file = databaseUser(t, { TEST_DATABASE_URL: url })
  t.match(await file.answer, { migrated: true, name: /^stowage_test_/ })
  t.equal((await databases(url)).length, before.length + 2, 'a template and a clone')
  t.equal(await file.end(), 0)
  for (let waited = 0; (await databases(url)).length > before.length && waited < 10_000; waited += 50) await sleep(50)
  t.same(await databases(url), before)
})

interface Answer {
  server: string
  name: string
  migrated: boolean
}

interface DatabaseUser {
  child: ChildProcess
  answer: Promise<Answer>
  /** The exit status. */
  end(): Promise<number>
}

/** @param runner the command that starts the file; none by default */
function databaseUser(t: Test, environment: Record<string, string> = {}, runner: readonly string[] = []): DatabaseUser {
  const script = fileURLToPath(new URL('../../servers/database-user.ts', import.meta.url))
  const { PATH } = process.env
  const [program = process.execPath, ...args] = [...runner, process.execPath, script]
  const child = spawn(program, args, { env: { PATH, ...environment }, stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  t.teardown(() => child.kill('SIGKILL'))
  const answer = once(child.stdout, 'data').then(([text]) => JSON.parse(String(text)) as Answer)
  const end = async () => {
    child.stdin.end()
    return (await closed)[0] as number
  }
  return { child, answer, end }
}

async function databases(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query('SELECT datname FROM pg_database ORDER BY 1')
  await client.end()
  return rows.map(row => row.datname)
}

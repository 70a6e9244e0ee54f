import { cp, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { copyRows } from '../src/db/copy-rows.ts'
import { readSettings } from '../src/settings/index.ts'
import { backUp } from '../src/start/backup.ts'
import { copyDatabase } from '../src/start/copy-database.ts'
import { testDatabase } from './servers/postgres.ts'
import { type Client, client } from './support/client.ts'
import { atNight, extent, isNight } from './support/extent.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'
import { until } from './support/until.ts'

const command = (...args: string[]) => [process.execPath, main, ...args] as const

t.test('a server can start from a backup, made with or without a running server', async t => {
  const home = await temporaryFolder(t)
  const data = join(home, 'data')
  const environment = { STOWAGE_DATA: data, PORT: '0' }
  const server = await startProgram(t, { environment })
  const { token, id } = await client(server.url).register('owner@example.org')

  // The start of the program takes seconds of processor time.
  if (isNight) {
    const beside = await runProgram({ environment, command: command('backup', join(home, 'beside')) })
    t.same([beside.status, beside.stderr], [0, ''])
    t.match(beside.stdout, `${home}/beside;`)
  } else await backUp(readSettings(environment), join(home, 'beside'), new AbortController().signal)

  await t.test('a failed backup says why in one sentence and leaves nothing', async t => {
    await writeFile(join(home, 'file'), 'mine')
    const before = await readdir(home)
    const refused = (folder: string, message: RegExp, variables: Record<string, string> = {}) => {
      const settings = readSettings({ ...environment, ...variables })
      return t.rejects(backUp(settings, join(home, folder), new AbortController().signal), { message })
    }
    await refused('file', /already exists: choose/)
    await refused('data', /already exists: choose/)
    await refused('nowhere/new', /choose another folder\.$/)
    await refused('new', /^there is no database in .*: set STOWAGE_DATA/, { STOWAGE_DATA: home })
    await refused('new', /pg_dump/, { DATABASE_URL: 'postgres://127.0.0.1:1/x', STOWAGE_SECRET: 'x'.repeat(32) })
    const interrupted = AbortSignal.abort(new Error('SIGINT interrupted the backup.'))
    await t.rejects(backUp(readSettings(environment), join(home, 'new'), interrupted), {
      message: 'SIGINT interrupted the backup.',
    })
    t.same(await readdir(home), before)
    if (!isNight) return
    const { status, stdout, stderr } = await runProgram({ environment, command: command('backup', data) })
    t.same([status, stdout], [1, ''])
    t.match(stderr, /^Stowage cannot back up: .*\n$/)
  })

  const credentials = [token]
  if (isNight) {
    const more = { name: 'made after the first backup', scopes: ['read'] }
    credentials.push((await client(server.url).createKey(token, more)).key)
  }
  t.equal(await server.stop(), 0, 'the server was not disturbed')
  // By day, the backup is the one that was made beside the server.
  if (isNight) t.equal((await runProgram({ environment, command: command('backup', join(home, 'alone')) })).status, 0)
  const names = extent({ gate: ['beside'], nightly: ['beside', 'alone'] })
  for (const name of names) {
    t.equal((await stat(join(home, name))).mode & 0o777, 0o700)
    t.equal((await stat(join(home, name, 'secret'))).mode & 0o777, 0o600)
  }

  await cp(join(home, names.at(-1) ?? ''), join(home, 'restored'), { recursive: true })
  const restored = await startProgram(t, { environment: { ...environment, STOWAGE_DATA: join(home, 'restored') } })
  for (const credential of credentials) {
    const { data } = await client(restored.url).graphql('{ me { id } }', {}, credential)
    t.equal(data.me.id, id, 'the backup has the matching database and secret')
  }
  t.equal(await restored.stop(), 0)
})

atNight(t, 'a workspace moves to a PostgreSQL of its own and back', async t => {
  const home = await temporaryFolder(t)
  const data = join(home, 'data')
  const own = { STOWAGE_DATA: data, PORT: '0' }
  const { connectionString: url } = await testDatabase(t)
  const copy = (environment: Record<string, string>, target: string) =>
    runProgram({ environment, command: command('copy-database', target) })
  const refused = (environment: Record<string, string>, target: string, message: RegExp) =>
    t.rejects(copyDatabase(readSettings(environment), target, new AbortController().signal), { message })

  const embedded = await startProgram(t, { environment: own })
  const api = client(embedded.url)
  const { token, id } = await api.register('owner@example.org')
  const provider = await api.connectProvider(token, 'local', { root: join(data, 'files') })
  let stored = 0
  /** Uploads until the server stops. */
  const load = (server: Client) =>
    Array.from({ length: 8 }, async (_, n) => {
      for (; ; stored++) {
        const response = await server.upload(token, provider, `/${n}-${stored}.txt`, `file ${stored}`).catch(() => null)
        if (response?.status !== 201) return
      }
    })
  const uploads = load(api)
  await until(() => stored > 100)
  await refused(own, url, /a server is running on .*: stop it first/)
  t.equal(await embedded.stop(), 0)
  await Promise.all(uploads)

  await refused(own, 'embedded', /name the database to copy with DATABASE_URL/)
  await refused({ ...own, STOWAGE_DATA: home }, url, /^there is no database in /)
  const moved = await copy(own, url)
  t.same([moved.status, moved.stderr], [0, ''])
  t.match(moved.stdout, `Start the server with DATABASE_URL set to the new database, and with STOWAGE_SECRET set to`)
  await refused(own, url, /^the new database is in use: name an empty database\.$/)

  const away = { DATABASE_URL: url, STOWAGE_SECRET_FILE: join(data, 'secret'), STOWAGE_DATA: data, PORT: '0' }
  const external = await startProgram(t, { environment: away })
  const there = client(external.url)
  t.same((await there.ask('{ me { id } }', {}, token)).me, { id }, 'the session of the old server holds')
  t.equal((await there.upload(token, provider, '/moved.txt', 'moved')).status, 201)
  await refused(away, 'embedded', /^a server has \d+ connections to the database: stop every replica first/)
  const moreUploads = load(there)
  await until(() => stored > 200)
  t.equal(await external.stop(), 0)
  await Promise.all(moreUploads)

  const back = { ...away, STOWAGE_DATA: join(home, 'back') }
  const returned = await copy(back, 'embedded')
  t.same([returned.status, returned.stderr], [0, ''])
  const { DATABASE_URL: _, ...environment } = back
  const last = await startProgram(t, { environment: { ...environment, STOWAGE_LOCAL_ROOTS: join(data, 'files') } })
  const api2 = client(last.url)
  t.equal(await (await api2.download(token, provider, '/moved.txt')).text(), 'moved')
  const { auditEvents } = await api2.ask(
    '{ auditEvents(filter: { action: UPLOAD, result: "OK" }, first: 200) { nodes { path } } }',
    {},
    token,
  )
  t.ok(auditEvents.nodes.length >= 100, 'the events of the loads before both copies')
})

atNight(t, 'a copy that fails leaves an empty database, which a second copy fills', async t => {
  const source = await testDatabase(t)
  const { connectionString: url } = await testDatabase(t)
  const db = new pg.Client(source)
  await db.connect()
  t.teardown(() => db.end())
  await db.query("insert into workspaces (name) values ('Kept')")
  await db.query("insert into users (email, email_key, password_hash) values ('a@b', 'a@b', '-')")
  await db.query(
    "insert into members (workspace_id, user_id, role, provider_access) select w.id, u.id, 'OWNER', '{}' from workspaces w, users u",
  )
  // A row that no import accepts, because its workspace does not exist.
  await db.query('alter table members drop constraint members_workspace_id_fkey')
  const settings = readSettings({ DATABASE_URL: source.connectionString, STOWAGE_SECRET: 'x'.repeat(32) })
  const signal = new AbortController().signal
  await db.query('delete from workspaces')
  await t.rejects(copyDatabase(settings, url, signal), { message: /^the rows could not be copied \(.*foreign key.*\)/ })
  await db.query("insert into workspaces (id, name) select workspace_id, 'Kept' from members")
  await db.query(
    'alter table members add constraint members_workspace_id_fkey foreign key (workspace_id) references workspaces',
  )
  t.ok((await copyDatabase(settings, url, signal)) > 2)
  const copied = new pg.Client({ connectionString: url })
  await copied.connect()
  t.teardown(() => copied.end())
  const { rows } = await copied.query('select name, role from members join workspaces w on w.id = workspace_id')
  t.same(rows, [{ name: 'Kept', role: 'OWNER' }])
  const orphan =
    "insert into members (workspace_id, user_id, role, provider_access) select gen_random_uuid(), id, 'OWNER', '{}' from users"
  await t.rejects(copied.query(orphan), { code: '23503' }, 'the references hold again')
})

t.test('every table is in a backup and in a copy, with the state of every sequence', async t => {
  const [from, to] = await Promise.all([ownDatabase(t), ownDatabase(t)])
  const { rows: tables } = await from.query<{ name: string; kind: string; schema: string; persistence: string }>(`
    select c.relname as name, c.relkind as kind, n.nspname as schema, c.relpersistence as persistence
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'f', 'm') and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema' order by 1`)
  t.ok(tables.length > 60)
  t.same(
    tables.filter(({ kind, schema }) => kind !== 'r' || schema !== 'public'),
    [],
    'a copy would leave these out',
  )
  t.same(
    tables.filter(({ persistence }) => persistence !== 'p').map(({ name }) => name),
    ['locks', 'rate_limits'],
    'a backup leaves out the rows of unlogged tables: only those that are worth nothing after a crash',
  )
  const { rows: objects } = await from.query('select oid from pg_largeobject_metadata')
  t.same(objects, [], 'a copy leaves out large objects')

  // Rows of all tables that do not refer to each other.
  for (const db of [from, to]) {
    const { rows } = await db.query<{ statement: string }>(`
      select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement from pg_constraint
      where contype in ('f', 'c') and connamespace = 'public'::regnamespace`)
    for (const { statement } of rows) await db.query(statement)
  }
  for (const { name } of tables) {
    await from.query(`alter table ${name} disable trigger user`)
    const { rows: columns } = await from.query<{ name: string; type: string }>(
      `select quote_ident(attname) as name, format_type(atttypid, null) as type from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
      [name],
    )
    const names = columns.map(column => column.name).join(', ')
    const values = columns.map(column => sampleOf(column.type)).join(', ')
    await from.query(`insert into ${name} (${names}) overriding system value values (${values}) on conflict do nothing`)
  }
  const { rows: sequences } = await from.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace",
  )
  t.ok(sequences.length > 3)
  for (const { name } of sequences) await from.query('select setval($1::regclass, 4711)', [name])
  await copyRows(from, to, new AbortController().signal)
  const contentOf = async (db: pg.Client) => {
    const found: Record<string, unknown> = {}
    for (const { name } of tables) {
      found[name] = (await db.query(`select t::text as row from ${name} t order by 1`)).rows
    }
    for (const { name } of sequences) found[name] = (await db.query(`select last_value from ${name}`)).rows
    return found
  }
  const expected = await contentOf(from)
  t.same(
    Object.keys(expected).filter(name => (expected[name] as unknown[]).length === 0),
    [],
  )
  t.same(await contentOf(to), expected)
})

async function ownDatabase(t: Test): Promise<pg.Client> {
  const db = new pg.Client(await testDatabase(t))
  await db.connect()
  t.teardown(() => db.end())
  return db
}

/** Returns a value of a type, for SQL. */
function sampleOf(type: string): string {
  if (type.endsWith('[]')) return `'{}'::${type}`
  if (/int|numeric|double|real/.test(type)) return '7'
  if (type === 'date') return "'2026-11-26'"
  if (type.startsWith('timestamp')) return "'2026-11-26T12:00:00.123456Z'"
  const samples: Record<string, string> = {
    boolean: 'true',
    bytea: "'\\x0001ff'",
    json: '\'{"a": 1}\'',
    jsonb: '\'{"a": 1}\'',
    text: "E'a \\\\ \\n \\t b'",
    tsvector: "'a:1'",
    uuid: "'5f3c4d2e-0000-4000-8000-000000000001'",
  }
  return samples[type] ?? "'1'"
}

atNight(t, 'unknown arguments print the usage', async t => {
  const all = [['backup'], ['backup', '--help'], ['backup', 'a', 'b'], ['copy-database']]
  for (const args of all) {
    const result = await runProgram({ environment: {}, command: command(...args) })
    t.same([result.status, result.stdout], [2, ''])
    t.match(result.stderr, /^Usage: stowage/)
  }
})

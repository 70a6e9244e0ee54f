/** Catalogues survive kills of their server and back ends that stop working while they are filled. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import pg from 'pg'
import t from 'tap'
import { StorageError } from '../../adapters/contract.ts'
import type { StoragePath } from '../../src/auth/path.ts'
import { databaseSettings } from '../servers/postgres.ts'
import { startApp } from '../support/app.ts'
import { client } from '../support/client.ts'
import { atNight, extent } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { startProgram, temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'
import { catalogued, isComplete, treeOf } from './world.ts'

const { signal } = new AbortController()

t.setTimeout(300_000)

atNight(t, 'a server that is killed while it fills a catalogue is followed by one that completes it', async t => {
  const folders = 3000
  const kills = 10
  const settings = await databaseSettings(t)
  const folder = await temporaryFolder(t)
  const root = join(folder, 'files')
  for (let index = 0; index < folders; index++) {
    const path = join(root, `${index % 7}`, `${index % 11}`, `folder ${index}`)
    await mkdir(path, { recursive: true })
    await Promise.all(Array.from({ length: 20 }, (_, n) => writeFile(join(path, `file ${n}`), 'x'.repeat(n))))
  }
  const environment = { ...settings, STOWAGE_DATA: join(folder, 'data'), STOWAGE_LOCAL_ROOTS: root, PORT: '0' }
  let program = await startProgram(t, { environment })
  const { token } = await client(program.url).register('owner@example.org')
  const id = await client(program.url).connectProvider(token, 'local', { root })
  const db = new pg.Client({ connectionString: settings.DATABASE_URL })
  await db.connect()
  t.teardown(() => db.end())
  const count = async () => {
    const { rows } = await db.query('select count(*) from catalogue_entries')
    return Number(rows[0].count)
  }
  const killedAt: number[] = []
  for (let kill = 0; kill < kills; kill++) {
    const before = await count()
    await until(async () => (await count()) > before, { within: 60_000, every: 5 })
    killedAt.push(await count())
    await program.stop('SIGKILL')
    // Otherwise the next server waits until the lease has ended.
    await db.query('update catalogues set lease_until = null, lease_id = null')
    program = await startProgram(t, { environment })
  }
  const expected = await treeOf(root)
  t.comment(`killed at ${killedAt.join(' and ')} of ${expected.length} entries`)
  t.ok((killedAt[0] ?? 0) < expected.length, 'the first kill was in the middle')
  const state = async () => {
    const query = 'query ($id: ID!) { provider(id: $id) { catalogue { isComplete entries } } }'
    return (await client(program.url).ask(query, { id }, token)).provider.catalogue
  }
  await until(async () => (await state()).isComplete || (await state()), { within: 120_000 })
  const { rows } = await db.query('select path, is_folder, size from catalogue_entries')
  const known = rows.map(({ path, is_folder, size }) => (is_folder ? `${path}/` : `${path} ${size}`)).sort()
  t.same(known, expected, 'every entry once, and no other')
  t.equal((await state()).entries, expected.length, 'the number of entries is exact')
})

t.test('a back end that stops working in the middle loses nothing, and is continued', async t => {
  const adapter = faultyAdapter()
  const app = await startApp(t, { adapters: [adapter], settings: { catalogueHours: 24 } })
  const { token } = await app.register('owner@example.org')
  const files = adapter.files('one')
  for (let index = 0; index < 30; index++) {
    await files.mkdir(`folder ${index}` as StoragePath, { exclusive: true, signal })
    await files.write(`folder ${index}/file` as StoragePath, Readable.from(['x']), { overwrite: false, signal })
  }
  let listings = 0
  let isAway = true
  adapter.before = ({ method }) => {
    if (method === 'list' && isAway && ++listings > 10) throw new StorageError('UNAVAILABLE', 'The back end is away.')
  }
  const id = await app.connectProvider(token, 'faulty', { name: 'one' })
  const query = 'query ($id: ID!) { provider(id: $id) { catalogue { state isComplete entries } } }'
  const state = async () => (await app.ask(query, { id }, token)).provider.catalogue
  await until(async () => (await state()).state === 'FAILED' || (await state()), { within: 30_000 })
  const kept = await catalogued(app, id)
  t.ok(kept.length >= 30, 'what was listed is kept')
  t.equal((await state()).isComplete, false)
  const found = await app.ask(
    '{ search(input: { text: "folder" }) { nodes { entry { path } } coverage { isComplete } } }',
    {},
    token,
  )
  t.ok(found.search.nodes.length > 0, 'the search finds it')
  t.match(found.search.coverage, [{ isComplete: false }])
  isAway = false
  await until(() => isComplete(app, id), { within: 60_000 })
  t.equal((await catalogued(app, id)).length, 60)
})

atNight(t, 'a back end that stops working in the middle of a large root is continued', async t => {
  const adapter = faultyAdapter()
  const app = await startApp(t, { adapters: [adapter], settings: { catalogueHours: 24 } })
  const { token } = await app.register('owner@example.org')
  const files = adapter.files('large')
  await files.mkdir('folder' as StoragePath, { exclusive: true, signal })
  const names = [...Array(9000).keys(), 'folder/file']
  for (const name of names) {
    await files.write(`${name}` as StoragePath, Readable.from([]), { overwrite: false, signal })
  }
  let isAway = true
  let pages = 0
  adapter.before = ({ method, cursor }) => {
    if (method !== 'list' || cursor === undefined || !isAway) return
    pages += 1
    if (pages > 6) throw new StorageError('UNAVAILABLE', 'The back end is away.')
  }
  const id = await app.connectProvider(token, 'faulty', { name: 'large' })
  const query = 'query ($id: ID!) { provider(id: $id) { catalogue { state } } }'
  const state = async () => (await app.ask(query, { id }, token)).provider.catalogue.state
  await until(async () => (await state()) === 'FAILED' || (await state()), { within: 30_000 })
  const { length } = await catalogued(app, id)
  t.ok(length > 0 && length < names.length, 'it stopped in the middle')
  isAway = false
  await until(() => isComplete(app, id), { within: 60_000 })
  t.equal((await catalogued(app, id)).length, names.length + 1)
})

atNight(t, 'a folder of many entries and a name of many accents are listed whole', async t => {
  const adapter = faultyAdapter()
  const accents = `a${'\u0301'.repeat(255)}`
  const open = adapter.open
  adapter.open = async (config, host) => {
    const provider = await open(config, host)
    // The memory keeps shorter names only.
    const list: typeof provider.list = async (path, options) => {
      const page = await provider.list(path, options)
      return {
        ...page,
        entries: page.entries.map(entry => (entry.name === 'long' ? { ...entry, name: accents } : entry)),
      }
    }
    return new Proxy(provider, { get: (_, name) => (name === 'list' ? list : Reflect.get(provider, name)) })
  }
  const app = await startApp(t, { adapters: [adapter], settings: { catalogueHours: 24 } })
  const { token } = await app.register('owner@example.org')
  const files = adapter.files('wide')
  const count = extent({ gate: 5000, nightly: 90_000 })
  const store = (path: string) => files.write(path as StoragePath, Readable.from([]), { overwrite: false, signal })
  for (let index = 0; index < count; index++) await store(`wide/${index}`)
  await store('long')
  const id = await app.connectProvider(token, 'faulty', { name: 'wide' })
  await until(() => isComplete(app, id), { within: 120_000 })
  const known = await catalogued(app, id)
  t.equal(known.length, count + 2)
  t.ok(known.some(line => line.startsWith(accents)))
  const { search } = await app.ask('{ search(input: { text: "a" }) { nodes { entry { name } } } }', {}, token)
  t.same(search.nodes, [{ entry: { name: accents } }], 'it is found without the accents')
})

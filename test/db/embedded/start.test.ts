import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startEmbeddedPostgres } from '../../../src/db/embedded/index.ts'
import { atNight, isNight } from '../../support/extent.ts'
import { cluster, nothingLeft, preparedFolder, query, serverProcess, start, temporaryFolder } from './harness.ts'

atNight(t, 'data survives a stop and a second start', async t => {
  const folder = await temporaryFolder(t)
  const first = await start(t, folder)
  t.equal(first.owner, true)
  t.match(first.connection, { port: 5432, user: 'stowage', database: 'stowage' })
  t.equal((await stat(first.connection.host)).mode & 0o777, 0o700, 'only the database user and root reach the socket')
  t.same(await query(first.connection, 'SELECT rolsuper, current_user FROM pg_roles WHERE rolname = current_user'), [
    { rolsuper: false, current_user: 'stowage' },
  ])
  await query(first.connection, 'CREATE TABLE kept AS SELECT 42 AS answer')
  await Promise.all([first.stop(), first.stop()])
  t.equal(await nothingLeft(folder, 0), true, 'stop resolves after all processes have exited')

  const second = await start(t, folder)
  t.same(await query(second.connection, 'SELECT answer FROM kept'), [{ answer: 42 }])
  t.notMatch(second.lines.join('\n'), /creating the database|recovery/)
  t.same(
    await query(
      second.connection,
      `SELECT current_setting('listen_addresses') AS listen, current_setting('data_checksums') AS checksums,
              current_setting('server_encoding') AS encoding, datlocprovider AS provider, datlocale AS locale
       FROM pg_database WHERE datname = current_database()`,
    ),
    [{ listen: '', checksums: 'on', encoding: 'UTF8', provider: 'b', locale: 'C.UTF-8' }],
  )
  await second.stop()
  t.same(
    (await readdir(join(folder, 'postgres'))).filter(name => name !== 'lib'),
    ['data', 'lock'],
  )
})

atNight(t, 'a second start in the same process shares the database, and its stop ends nothing', async t => {
  const folder = await preparedFolder(t)
  const owner = await start(t, folder)
  const guest = await start(t, folder)
  t.equal(guest.owner, false)
  await query(guest.connection, 'CREATE TABLE shared ()')
  await guest.stop()
  t.same(await query(owner.connection, 'SELECT * FROM shared'), [])
  t.equal((await start(t, folder)).owner, false, 'the first start still owns the lock')
})

t.test('concurrent starts on a new folder run initdb once and have one owner', async t => {
  const folder = await temporaryFolder(t)
  const all = [1, 2, 3].map(() => serverProcess(t, { dataFolder: folder }))
  const ready = await Promise.all(all.map(one => one.wait('ready')))
  t.equal(ready.filter(one => one.ready.owner).length, 1)
  const creations = all.flatMap(one => one.messages).filter(message => 'log' in message && /creating/.test(message.log))
  t.equal(creations.length, 1)
  const owner = all.find((_, index) => ready[index]?.ready.owner)
  const guests = all.filter(one => one !== owner)
  await guests[0]?.stop()
  await owner?.stop()
  const left = await guests[1]?.wait('ended')
  t.match(left?.ended, /owns the database/)
  await guests[1]?.stop()
  t.equal(await nothingLeft(folder), true)
})

atNight(
  t,
  'a killed owner is noticed by processes that share its database, and the next start becomes the owner',
  async t => {
    const folder = await preparedFolder(t)
    const owner = serverProcess(t, { dataFolder: folder })
    await owner.wait('ready')
    const guest = serverProcess(t, { dataFolder: folder })
    t.equal((await guest.wait('ready')).ready.owner, false)
    await owner.kill()
    await guest.wait('ended')
    const next = await start(t, folder)
    t.equal(next.owner, true)
    t.same(await query(next.connection, 'SELECT 1 AS one'), [{ one: 1 }])
  },
)

atNight(t, 'the owner learns why its database exited', async t => {
  const folder = await preparedFolder(t)
  const server = await start(t, folder)
  const reason = new Promise<string>(resolve => server.onExit(resolve))
  const [row] = await query(
    server.connection,
    "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid",
    'postgres',
  )
  process.kill(Number(row?.pid), 'SIGINT')
  t.match(await reason, /ended unexpectedly \(.*shut down/)
  await server.stop()
  t.equal((await start(t, folder)).owner, true)
})

atNight(t, 'an aborted start leaves no process, and the next one works', async t => {
  const folder = await temporaryFolder(t)
  for (const milliseconds of [0, 30, 150, 400]) {
    const signal = AbortSignal.timeout(milliseconds)
    await t.rejects(start(t, folder, { signal }), { name: 'TimeoutError' })
    t.equal(await nothingLeft(folder, 0), true, `after ${milliseconds} ms`)
  }
  t.equal((await start(t, folder)).owner, true)
})

atNight(t, 'a data folder can have a path that is too long for a socket', async t => {
  const folder = join(await temporaryFolder(t), 'x'.repeat(200), 'y'.repeat(100))
  const owner = await start(t, folder)
  const guest = await start(t, folder)
  await query(owner.connection, 'CREATE TABLE long_way ()')
  t.same(await query(guest.connection, 'SELECT * FROM long_way'), [])
  await guest.stop()
  await owner.stop()
})

t.test('a failed start says what to do in one sentence', async t => {
  const folder = await (isNight ? temporaryFolder(t) : preparedFolder(t))
  await writeFile(join(folder, 'file'), '')
  const refused = (dataFolder: string, message: RegExp) =>
    t.rejects(startEmbeddedPostgres({ dataFolder, log: () => undefined }), { name: 'EmbeddedPostgresError', message })
  await refused('/dev/null/data', /^The data folder .* cannot be used .*: make it writable .*\.$/)
  await refused(join(folder, 'file'), /^The data folder .* cannot be used .*: make it writable .*\.$/)
  const settings = { shared_buffers: 'nonsense' }
  const message =
    /^PostgreSQL could not start on .* \(invalid value for parameter "shared_buffers": "nonsense"\): correct/
  await t.rejects(start(t, folder, { settings }), { name: 'EmbeddedPostgresError', message })
  t.equal((await start(t, folder)).owner, true, 'the lock was released')
  t.ok(await stat(cluster(folder)))
})

/** Starts, uses, stops and kills the program like an operator. */
import { once } from 'node:events'
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { databaseSettings, testDatabase } from './servers/postgres.ts'
import { client, password } from './support/client.ts'
import { atNight, isNight } from './support/extent.ts'
import { runProgram, startProgram, temporaryFolder } from './support/program.ts'
import { until } from './support/until.ts'

const start = (t: Test, environment: Record<string, string>) =>
  startProgram(t, { environment: { PORT: '0', ...environment } })

t.test('the server runs on its embedded database', async t => {
  const data = join(await temporaryFolder(t), 'data')
  const environment = { STOWAGE_DATA: data }
  const first = await start(t, environment)
  t.ok(first.output().includes(data), 'the data folder')
  t.ok(first.output().includes(`curl ${first.url}/graphql`), 'the output has a command to paste')
  t.ok(first.output().includes(`${first.url}/graphiql`))
  const { token } = await client(first.url).register('owner@example.org')
  const providerId = await client(first.url).connectProvider(token, 'local', { root: join(data, 'files') })
  t.equal((await client(first.url).upload(token, providerId, '/kept.txt', 'kept')).status, 201)
  for (const [path, mode] of Object.entries({ '.': 0o700, files: 0o700, secret: 0o600 }))
    t.equal((await stat(join(data, path))).mode & 0o777, mode, path)
  t.equal(await first.stop('SIGINT'), 0)
  // By day, faults/kill.test.ts restarts a server.
  if (!isNight) return

  const started = performance.now()
  const second = await start(t, environment)
  t.comment(`warm start: ${Math.round(performance.now() - started)} ms`)
  t.notOk(second.output().includes('RegisterInput'), 'the output no longer explains how to register')
  const kept = await client(second.url).download(token, providerId, '/kept.txt')
  t.equal(await kept.text(), 'kept', 'the session and the data survive a restart')

  await t.test("a second server on the same folder shares the first one's database", async t => {
    const guest = await start(t, environment)
    t.equal((await client(guest.url).graphql('{ me { id } }', {}, token)).status, 200)
    t.equal(await guest.stop(), 0)
    t.equal((await client(second.url).graphql('{ me { id } }', {}, token)).status, 200)
  })

  await t.test('after a kill the server starts again with all acknowledged changes', async t => {
    await client(second.url).upload(token, providerId, '/last.txt', 'last')
    await second.stop('SIGKILL')
    const third = await start(t, environment)
    t.equal(await (await client(third.url).download(token, providerId, '/last.txt')).text(), 'last')
    t.equal(await third.stop(), 0)
  })
})

atNight(t, 'only its user can access a new data folder', async t => {
  const parent = await temporaryFolder(t)
  await chmod(parent, 0o755)
  const data = join(parent, 'new', 'data')
  for (let round = 0; round < 2; round += 1) {
    const server = await start(t, { STOWAGE_DATA: data })
    t.notMatch(server.output(), /Other users/)
    t.equal(await server.stop(), 0)
  }
  const mode = async (path: string) => (await stat(join(data, path))).mode & 0o777
  t.equal(await mode('.'), 0o700)
  t.equal(await mode('files'), 0o700)
  for (const name of await readdir(data))
    t.equal((await mode(name)) & 0o066, 0, `other users cannot read or write ${name}`)

  // Use the mode that an older version has set.
  await chmod(data, 0o755)
  await chmod(join(data, 'files'), 0o755)
  const server = await start(t, { STOWAGE_DATA: data })
  t.match(server.output(), `run \\"chmod 700 ${data}\\"`)
  t.equal(await mode('.'), 0o755, "the operator's mode is kept")
  t.equal(await server.stop(), 0)
})

atNight(t, 'the server runs on an external database', async t => {
  const { connectionString } = await testDatabase(t)
  const secret = 'a secret of at least thirty-two bytes'
  const environment = {
    DATABASE_URL: connectionString,
    STOWAGE_SECRET: secret,
    STOWAGE_LOCAL_ROOTS: await temporaryFolder(t),
  }
  const server = await start(t, environment)
  t.ok(await client(server.url).register('owner@example.org'))
  for (const path of ['/healthz', '/readyz']) t.equal((await fetch(server.url + path)).status, 200, path)
  t.equal(await server.stop(), 0)
  t.notOk(server.output().includes(secret))
  t.notOk(server.output().includes(password))
})

atNight(t, 'with an external database, a new machine gets the default folder for local files', async t => {
  const { connectionString } = await testDatabase(t)
  const parent = await temporaryFolder(t)
  const own = { DATABASE_URL: connectionString, STOWAGE_SECRET: 'x'.repeat(32) }
  const data = join(parent, 'new')
  const server = await start(t, { ...own, STOWAGE_DATA: data })
  const api = client(server.url)
  const { token } = await api.register('owner@example.org')
  const providerId = await api.connectProvider(token, 'local', { root: join(data, 'files') })
  t.equal((await api.upload(token, providerId, '/first.txt', 'first')).status, 201)
  t.equal((await stat(join(data, 'files'))).mode & 0o777, 0o700)
  t.equal(await server.stop(), 0)

  await writeFile(join(parent, 'file'), '')
  const without = await start(t, { ...own, STOWAGE_DATA: join(parent, 'file', 'data') })
  t.equal(await without.stop(), 0, 'a data folder that cannot be created does not prevent the start')
})

atNight(t, 'a running transfer can finish while the server stops', async t => {
  const data = await temporaryFolder(t)
  const server = await start(t, { ...(await databaseSettings(t)), STOWAGE_DATA: data })
  const { token } = await client(server.url).register('owner@example.org')
  const providerId = await client(server.url).connectProvider(token, 'local', { root: join(data, 'files') })
  const chunks = async function* () {
    for (let index = 0; index < 10; index++) {
      yield Buffer.alloc(100_000, index)
      await sleep(150)
    }
  }
  const body = Readable.toWeb(Readable.from(chunks())) as ReadableStream
  const uploading = client(server.url).upload(token, providerId, '/slow.bin', body)
  const staging = join(data, 'files', '.stowage-staging')
  await until(async () => (await readdir(staging).catch(() => [])).length > 0)
  const stopping = server.stop()
  t.equal((await uploading).status, 201)
  t.equal(await stopping, 0)
  t.equal((await readFile(join(data, 'files', 'slow.bin'))).length, 1_000_000)
})

atNight(t, 'a failed start prints one sentence', async t => {
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  t.teardown(() => busy.close())
  const address = busy.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const { connectionString } = await testDatabase(t)
  const data = join(await temporaryFolder(t), 'data')
  const own = { DATABASE_URL: connectionString, STOWAGE_SECRET: 'x'.repeat(32) }
  const cases: [Record<string, string>, RegExp][] = [
    [{ PORT: 'x' }, /PORT must be a whole number/],
    [{ DATABASE_URL: 'postgres://127.0.0.1/x' }, /STOWAGE_SECRET must be set/],
    [{ ...own, DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /DATABASE_URL.*ECONNREFUSED/],
    [
      { STOWAGE_DATA: data, STOWAGE_LOCAL_ROOTS: `/srv,${join(data, '..')}` },
      /LOCAL_ROOTS must not include .*data folder/,
    ],
    [
      { STOWAGE_DATA: data, STOWAGE_LOCAL_ROOTS: join(data, 'postgres') },
      /LOCAL_ROOTS must not include .*\/postgres, /,
    ],
    [{ ...own, STOWAGE_DATA: data, STOWAGE_LOCAL_ROOTS: data }, /LOCAL_ROOTS must not include/],
    [{ ...own, PORT: port }, new RegExp(`PORT ${port} is in use`)],
    [{ ...own, HOST: '203.0.113.1' }, /HOST "203.0.113.1" is not an address of this machine/],
  ]
  for (const [environment, sentence] of cases) {
    const { status, stdout, stderr } = await runProgram({ environment: { PORT: '0', ...environment } })
    t.equal(status, 1)
    const output = (stdout + stderr).trim().split('\n')
    const lines = output.filter(line => !line.startsWith('{'))
    t.equal(lines.length, 1, output.join('\n'))
    t.match(lines[0], sentence)
  }
})

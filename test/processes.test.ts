/** Several server processes behind one port: `STOWAGE_PROCESSES`. */
import { once } from 'node:events'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { databaseSettings } from './servers/postgres.ts'
import { client } from './support/client.ts'
import { atNight, isNight } from './support/extent.ts'
import { type Program, runProgram, startProgram, temporaryFolder } from './support/program.ts'
import { eventually, until } from './support/until.ts'

async function startProcesses(
  t: Test,
  more: Record<string, string> = {},
): Promise<{ server: Program; data: string; token: string; providerId: string }> {
  const data = await temporaryFolder(t)
  await mkdir(join(data, 'files'))
  const server = await startProgram(t, {
    environment: { ...(await databaseSettings(t)), PORT: '0', STOWAGE_DATA: data, STOWAGE_PROCESSES: '2', ...more },
  })
  const api = client(server.url)
  const { token } = await api.register('owner@example.org')
  const providerId = await api.connectProvider(token, 'local', { root: join(data, 'files') })
  return { server, data, token, providerId }
}

/** Returns the ids of the processes that respond to requests over new connections. */
async function responding({ url, output }: Program): Promise<Set<number>> {
  const start = output().length
  const requests = Array.from({ length: 20 }, () =>
    fetch(`${url}/graphql?query={__typename}`, { headers: { connection: 'close' } }),
  )
  for (const response of await Promise.all(requests)) await response.text()
  const lines = () =>
    output()
      .slice(start)
      .split('\n')
      .filter(line => line.includes('"request done"'))
  await until(() => lines().length >= 20)
  return new Set(lines().map(line => JSON.parse(line).pid))
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('all processes respond, and one that is killed is replaced', async t => {
  const { server, token, providerId } = await startProcesses(t)
  const api = client(server.url)
  const pids = await responding(server)
  t.equal(pids.size, 2)
  t.notOk(pids.has(server.process.pid ?? 0), 'the first process only starts the others')
  await Promise.all(Array.from({ length: 20 }, (_, n) => api.upload(token, providerId, `/${n}.txt`, `content ${n}`)))

  const [killed = 0] = pids
  process.kill(killed, 'SIGKILL')
  await until(() => !isAlive(killed))
  for (let n = 0; n < 20; n++) {
    const response = await api.download(token, providerId, `/${n}.txt`)
    t.equal(await response.text(), `content ${n}`, 'service goes on')
  }
  t.match(server.output(), 'another one replaces it')
  await eventually(async () => {
    const now = await responding(server)
    if (now.size < 2) throw new Error('one process is missing')
    if (now.has(killed)) throw new Error('a killed process responds')
  }, 30_000)
  if (isNight) t.equal(await server.stop(), 0)
  else await outlivesNone(server)
})

atNight(t, 'a transfer can finish while the processes stop', async t => {
  const { server, data, token, providerId } = await startProcesses(t)
  const pids = await responding(server)
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
  t.same([...pids].filter(isAlive), [])
})

atNight(t, 'no process outlives the one that started it', async t => outlivesNone((await startProcesses(t)).server))

async function outlivesNone(server: Program): Promise<void> {
  const pids = await responding(server)
  await server.stop('SIGKILL')
  await until(() => ![...pids].some(isAlive))
  t.equal(pids.size, 2)
}

atNight(t, 'connections beyond the limit of all processes are closed', async t => {
  const environment = { STOWAGE_CONNECTION_LIMIT: '2', STOWAGE_TRUST_PROXY: '127.0.0.1' }
  const { server } = await startProcesses(t, environment)
  const { hostname, port } = new URL(server.url)
  const sockets = Array.from({ length: 60 }, () => connect(Number(port), hostname).on('error', () => {}))
  t.teardown(() => sockets.forEach(socket => void socket.destroy()))
  // Each process may have ten times its half of the limit. The requests of the setup keep some connections open.
  const closed = () => sockets.filter(each => each.closed).length
  await until(() => closed() >= 40 || closed())
  t.ok(closed() < 50, `${closed()} of 60 are closed`)
  for (const socket of sockets) socket.destroy()
  await until(async () => (await fetch(`${server.url}/healthz`).catch(() => null))?.status === 200)
})

atNight(t, 'a start that fails prints one sentence', async t => {
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  t.teardown(() => busy.close())
  const address = busy.address()
  const port = typeof address === 'object' && address ? String(address.port) : ''
  const environment = { PORT: port, STOWAGE_DATA: await temporaryFolder(t), STOWAGE_PROCESSES: '2' }
  const { status, stderr } = await runProgram({ environment })
  t.equal(status, 1)
  t.match(stderr, `PORT ${port} is in use`)
})

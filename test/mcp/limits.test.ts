/** The endpoint costs nothing until it is used, and a bounded amount of memory then. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, apiVersion } from '../../adapters/contract.ts'
import { testDatabase } from '../servers/postgres.ts'
import { client } from '../support/client.ts'
import { isNight } from '../support/extent.ts'
import { message, toolCall, toolOutcome } from '../support/mcp.ts'
import { temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'
import { startMcpWorld } from './clients.ts'

t.setTimeout(300_000)

const mebibyte = 1024 * 1024
/** Bytes of the longest part of a file. Each byte of the test takes thirteen in its response. */
const length = 128 * 1024
const rounds = 20

/** Runs a server in another process, which reports the modules of the library that it loads. */
async function startProcess(t: Test) {
  const folder = await temporaryFolder(t)
  const { connectionString } = await testDatabase(t)
  const hooks = new URL('loaded-modules.ts', import.meta.url).href
  const script = new URL('../http/server-process.ts', import.meta.url).pathname
  const child = spawn(process.execPath, ['--import', hooks, script, connectionString, folder], { stdio: 'pipe' })
  let loaded = ''
  child.stderr.on('data', chunk => {
    loaded += chunk
  })
  t.teardown(async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url, local, token }: { url: string; local: string; token: string } = JSON.parse(line)
  const resident = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }
  return { api: client(url), providerId: local, token, loaded: () => loaded, resident }
}

t.test('the library is loaded by the first request to /mcp, and by night memory is bounded', async t => {
  const { api, providerId, token, loaded, resident } = await startProcess(t)
  const call = async (name: string, args: object) => {
    const { path, ...init } = toolCall(name, args)
    const response = await api.request(path, { ...init, token })
    return toolOutcome(response.status, await response.text())
  }
  await api.upload(token, providerId, '/a.txt', '\u0001'.repeat(length))
  const refused = await api.request('/mcp', message('tools/list'))
  t.equal(refused.status, 401)
  await refused.arrayBuffer()
  t.notMatch(loaded(), /node_modules/, 'a server that nobody asks has not loaded it')
  const before = await resident()
  const started = performance.now()
  t.equal((await call('list_providers', {})).status, 200)
  const loading = Math.round(performance.now() - started)
  await until(() => /@modelcontextprotocol\/server.*\n/.test(loaded()))
  t.notMatch(loaded(), /express|hono/)
  const loadedBytes = (await resident()) - before
  t.comment(`the first request took ${loading} ms and ${Math.round(loadedBytes / mebibyte)} MiB`)

  if (!isNight) return
  const read = () => call('read_file', { providerId, path: '/a.txt', length })
  const burst = async () => {
    const outcomes = await Promise.all(Array.from({ length: 16 }, read))
    return outcomes.every(({ output }) => output.content.length === length)
  }
  t.ok(await burst())
  const afterFirst = await resident()
  for (let round = 0; round < rounds; round += 1) t.ok(await burst())
  const growth = (await resident()) - afterFirst
  t.comment(`${rounds * 16} further reads of 128 KiB: ${Math.round(growth / mebibyte)} MiB more`)
  t.ok(growth < 200 * mebibyte, `${growth} bytes`)
})

t.test('a member has at most 64 calls in progress, and the others wait', async t => {
  const opened = Promise.withResolvers<void>()
  let waiting = 0
  const adapter: AdapterDefinition = {
    type: 'waiting',
    apiVersion,
    title: 'Waiting',
    configSchema: { type: 'object', properties: {} },
    async open(_config, host) {
      const provider = await memoryAdapter.open({ maxBytes: 1 }, host)
      const { stat } = provider
      return Object.assign(provider, {
        async stat(...given: Parameters<typeof stat>) {
          waiting += 1
          await opened.promise
          return stat.apply(provider, given)
        },
      })
    },
  }
  const { app, providerId, tool } = await startMcpWorld(t, { adapters: [adapter] }, 'waiting')
  const calls = Array.from({ length: 70 }, () => tool('stat', { providerId, path: '/' }))
  await until(() => waiting === 64)
  const { token: other } = await app.register('other@example.org')
  t.equal((await tool('list_providers', {}, other)).status, 403, 'other members are not affected')
  t.equal(waiting, 64)
  opened.resolve()
  t.same(
    (await Promise.all(calls)).map(({ status }) => status),
    Array(70).fill(200),
  )
})

/** The metrics for Prometheus: `STOWAGE_METRICS_ADDRESS`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { databaseSettings } from './servers/postgres.ts'
import { findProgram, requirePrograms } from './servers/programs.ts'
import { connectSsh, RawSftp, SftpClient } from './sftp/server.ts'
import { client } from './support/client.ts'
import { atNight, isNight } from './support/extent.ts'
import { freePort } from './support/free-port.ts'
import { runProgram, startProgram, temporaryFolder } from './support/program.ts'
import { until } from './support/until.ts'
import { untilParentEnds } from './support/until-parent-ends.ts'

async function startMeasured(t: Test, more: Record<string, string> = {}) {
  const data = await temporaryFolder(t)
  await mkdir(join(data, 'files'))
  const address = `127.0.0.1:${await freePort()}`
  const database = await databaseSettings(t)
  const environment = { ...database, PORT: '0', STOWAGE_DATA: data, STOWAGE_METRICS_ADDRESS: address, ...more }
  const server = await startProgram(t, { environment })
  const scrape = async () => (await fetch(`http://${address}/metrics`)).text()
  /** Returns the sum of all samples of a metric whose labels match. */
  const sample = async (name: string, labels = /^/) => {
    const lines = (await scrape()).split('\n').filter(line => line.startsWith(name) && labels.test(line))
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }
  return { server, address, data, scrape, sample, api: client(server.url) }
}

/** The server of the tests that need no other settings. The first test counts all of its requests. */
const sftpPort = await freePort()
const measured = await startMeasured(t, { STOWAGE_SFTP_ADDRESS: `127.0.0.1:${sftpPort}` })
/** The session of the owner. */
let token = ''

t.test('requests, bytes, back ends and the state of the server are measured', async t => {
  const { address, data, scrape, sample, api } = measured
  token = (await api.register('owner@example.org')).token
  const providerId = await api.connectProvider(token, 'local', { root: join(data, 'files') })
  await api.upload(token, providerId, '/a.bin', Buffer.alloc(3_000_000))
  await (await api.download(token, providerId, '/a.bin')).arrayBuffer()
  await api.download(token, providerId, '/missing.bin')
  for (let n = 0; n < 50; n++) await api.request(`/unknown-${n}`)

  const download = /method="GET",route="\/api\/download\/proxy"/
  const count = 'stowage_http_request_duration_seconds_count'
  await until(async () => (await sample(count, download)) === 2)
  t.equal(await sample(count, /route="\/api\/download\/proxy",status="404"/), 1)
  t.equal(await sample(count, /route="none",status="404"/), 50, 'unknown URLs share one label')
  t.notMatch(await scrape(), /unknown-/)
  t.ok((await sample('stowage_http_bytes_total', /received/)) > 3_000_000)
  t.ok((await sample('stowage_http_bytes_total', /sent/)) > 3_000_000)
  const calls = 'stowage_provider_call_duration_seconds_count'
  t.equal(await sample(calls, new RegExp(`provider="${providerId}",type="local",operation="write"`)), 1)
  t.ok((await sample('stowage_provider_errors_total', /code="NOT_FOUND"/)) >= 1)
  t.ok((await sample('stowage_database_connections', /state="total"/)) > 0)
  for (const name of ['stowage_http_transfers', 'stowage_audit_events_waiting', 'nodejs_eventloop_lag_p99_seconds'])
    t.match(await scrape(), new RegExp(`^${name} `, 'm'))

  t.equal((await fetch(`http://${address}/`)).status, 404, 'nothing else is served there')
  t.equal((await api.request('/metrics')).status, 404, 'nor are the metrics on the public port')
  t.notMatch(await scrape(), token)
})

t.test('connections and requests of SFTP are measured', async t => {
  const { data, sample, api } = measured
  await mkdir(join(data, 'files/sftp'))
  await api.connectProvider(token, 'local', { root: join(data, 'files/sftp') }, 'Files')
  const { key } = await api.createKey(token, { name: 'sftp', scopes: ['write'] })
  const endpoint = { host: '127.0.0.1', port: sftpPort, faults: [], close: async () => {} }
  const sftp = new SftpClient(await RawSftp.start(await connectSsh(t, endpoint, { password: key })))
  await sftp.put('/files/a.bin', Buffer.alloc(200_000))
  await t.rejects(sftp.open('/files/missing', 1))
  t.equal((await sftp.raw.request(99)).status, 8)
  t.equal(await sftp.read(await sftp.open('/files/a.bin', 1), 200_000, 1), null)
  for (const name of ['connections', 'sessions']) t.equal(await sample(`stowage_sftp_${name}`), 1)
  t.ok((await sample('stowage_sftp_bytes_total', /received/)) > 200_000)
  t.ok((await sample('stowage_sftp_bytes_total', /sent/)) > 500)
  const count = 'stowage_sftp_request_duration_seconds_count'
  t.equal(await sample(count, /request="write",status="OK"/), 1)
  t.equal(await sample(count, /request="open",status="NO_SUCH_FILE"/), 1)
  t.equal(await sample(count, /request="unsupported",status="UNSUPPORTED"/), 1)
  t.equal(await sample(count, /request="read",status="END_OF_FILE"/), 1)
})

t.test('the dashboard uses metrics that exist', async t => {
  const dashboard = await readFile(new URL('../docs/grafana-dashboard.json', import.meta.url), 'utf8')
  const used = new Set(
    dashboard.match(/\b(?:stowage|nodejs|process)_\w+/g)?.map(name => name.replace(/_(?:bucket|count)$/, '')),
  )
  t.ok(used.size > 8)
  const described = new Set((await measured.scrape()).match(/(?<=^# HELP )\w+/gm))
  t.same(
    [...used].filter(name => !described.has(name)),
    [],
  )
})

atNight(t, 'several processes are measured together', async t => {
  const { server, sample } = await startMeasured(t, { STOWAGE_PROCESSES: '2' })
  const requests = Array.from({ length: 30 }, () =>
    fetch(`${server.url}/graphql?query={__typename}`, { headers: { connection: 'close' } }),
  )
  for (const response of await Promise.all(requests)) await response.text()
  await until(async () => (await sample('stowage_http_request_duration_seconds_count', /\/graphql/)) === 30)
  t.equal(await server.stop(), 0)
})

atNight(t, 'an address that is in use prints one sentence', async t => {
  const { address } = await startMeasured(t)
  for (const processes of ['1', '2']) {
    const environment = {
      ...(await databaseSettings(t)),
      PORT: '0',
      STOWAGE_DATA: await temporaryFolder(t),
      STOWAGE_METRICS_ADDRESS: address,
      STOWAGE_PROCESSES: processes,
    }
    const { status, stderr } = await runProgram({ environment })
    t.equal(status, 1)
    t.match(stderr, /STOWAGE_METRICS_ADDRESS cannot be used: .*EADDRINUSE/)
  }
})

t.test('Prometheus accepts the metrics, and by night scrapes them', async t => {
  if (!(await hasPrometheus(t))) return
  const { address, scrape } = measured
  const checking = spawn('promtool', ['check', 'metrics'], { stdio: 'pipe' })
  checking.stdin.end(await scrape())
  const [output, problems] = await Promise.all([text(checking.stdout), text(checking.stderr)])
  const ours = (output + problems).split('\n').filter(line => line.includes('stowage_'))
  t.same(ours, [], 'no advice about our names')

  if (!isNight) return
  const folder = await temporaryFolder(t)
  const configuration = {
    scrape_configs: [{ job_name: 'stowage', scrape_interval: '1s', static_configs: [{ targets: [address] }] }],
  }
  // JSON is YAML, too.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(configuration))
  const port = await freePort()
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const prometheus = spawn(...untilParentEnds('prometheus', args), { stdio: 'ignore' })
  const ended = once(prometheus, 'exit')
  t.teardown(async () => {
    prometheus.kill()
    await ended
  })
  const query = `http://127.0.0.1:${port}/api/v1/query?query=stowage_database_connections`
  await until(async () => {
    const response = await fetch(query).catch(() => null)
    const { data } = response?.ok ? await response.json() : { data: null }
    return data?.result.length === 3 || data
  })
})

/** Without Prometheus, `t` is skipped; in CI, it is installed. */
async function hasPrometheus(t: Test): Promise<boolean> {
  const programs = ['prometheus', 'promtool']
  if (process.env.CI) {
    await requirePrograms({
      who: 'The test of the metrics',
      programs,
      packages: ['prometheus'],
      instead: 'put it on PATH',
    })
  }
  const found = await Promise.all(programs.map(findProgram))
  if (!found.includes(null)) return true
  t.plan(0, 'NOT TESTED: the metrics, because Prometheus is missing (Debian: apt-get install prometheus).')
  return false
}

/** The files in deploy/, without Docker: each program that reads one checks it, and nginx serves a server through it. */
import { randomBytes } from 'node:crypto'
import { cp, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { definitions } from '../src/settings/definitions.ts'
import { readSettings } from '../src/settings/index.ts'
import { startConfigured } from './servers/nginx.ts'
import { requirePrograms } from './servers/programs.ts'
import { startApp } from './support/app.ts'
import { openEvents } from './support/events.ts'
import { atNight, isNight } from './support/extent.ts'
import { freePort } from './support/free-port.ts'
import { runProgram, temporaryFolder } from './support/program.ts'

const folder = new URL('../deploy/', import.meta.url).pathname
const read = (name: string) => readFile(join(folder, name), 'utf8')

t.test('the script creates the secrets once, and the compose file gives them to the containers', async t => {
  const copy = await temporaryFolder(t)
  await cp(folder, copy, { recursive: true })
  const run = () => runProgram({ environment: {}, command: ['sh', join(copy, 'secrets.sh')] })
  const first = await run()
  t.equal(first.status, 0, first.stderr)
  t.same(await run(), first, 'the secrets stay')
  t.equal((await stat(join(copy, 'secrets'))).mode & 0o777, 0o700)

  const { services, secrets, networks } = parse(await read('compose.yaml'))
  const { stowage, postgres, nginx, prometheus } = services
  const fileOf = (path: string) => join(copy, secrets[path.replace('/run/secrets/', '')].file)
  const environment = Object.fromEntries(
    Object.entries<string>(stowage.environment).map(([name, value]) => [
      name,
      name.endsWith('_FILE') ? fileOf(value) : value.replace(/^\$\{\w+:-(.*)\}$/, '$1'),
    ]),
  )
  for (const name of Object.keys(environment)) t.ok(name.replace(/_FILE$/, '') in definitions, `${name} is a setting`)
  const settings = readSettings(environment)
  const password = (await readFile(fileOf(postgres.environment.POSTGRES_PASSWORD_FILE), 'utf8')).trim()
  t.equal(settings.databaseUrl, `postgres://stowage:${password}@postgres:5432/stowage`)
  t.match(first.stdout, String(settings.setupCode))
  t.match(settings, { publicUrl: 'http://localhost:8080', metricsAddress: { host: '0.0.0.0', port: 9464 } })
  t.same(settings.trustedProxies, [networks.default.ipam.config[0].subnet])
  t.same([stowage.ports, postgres.ports], [undefined, undefined], 'only nginx and Prometheus can be reached')
  t.equal(settings.sftpAddress, null)
  const more = parse(await read('compose-sftp.yaml')).services.stowage
  t.same(more.ports, ['127.0.0.1:2022:2022'], 'SFTP opens its port with a file of its own')
  t.equal(readSettings({ ...environment, ...more.environment }).sftpAddress?.port, 2022)
  for (const { ports } of [nginx, prometheus]) for (const port of ports) t.match(port, /^127\.0\.0\.1:/)
  for (const used of [...stowage.secrets, ...postgres.secrets]) t.ok(secrets[used], `${used} is declared`)
})

t.test('Prometheus accepts its configuration, which names the address of the metrics', async t => {
  await requirePrograms({
    who: 'The test of deploy/prometheus.yml',
    programs: ['promtool'],
    packages: ['prometheus'],
    instead: 'put promtool on PATH',
  })
  const command = ['promtool', 'check', 'config', join(folder, 'prometheus.yml')] as const
  const { status, stdout, stderr } = await runProgram({ environment: {}, command: [...command] })
  t.equal(status, 0, stdout + stderr)
  t.same(parse(await read('prometheus.yml')).scrape_configs[0].static_configs[0].targets, ['stowage:9464'])
})

atNight(t, 'clients work through nginx with its configuration', async t => {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const app = await startApp(t, { settings: { publicUrl, trustedProxies: ['127.0.0.1'] } })
  const configuration = (await read('nginx.conf'))
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replace('http://stowage:3000', app.url)
  await startConfigured(t, configuration, publicUrl)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const content = randomBytes(3 * 1024 * 1024)
  const headers = { authorization: `Bearer ${token}` }
  const at = `providerId=${providerId}&path=${encodeURIComponent('/file')}`
  const upload = await fetch(`${publicUrl}/api/upload/proxy?${at}`, { method: 'POST', headers, body: content })
  t.equal(upload.status, 201)
  const download = await fetch(`${publicUrl}/api/download/proxy?${at}`, { headers })
  t.ok(content.equals(Buffer.from(await download.arrayBuffer())))
  const query = 'subscription ($providerId: ID!) { entryChanged(providerId: $providerId, path: "/") { kind } }'
  const stream = await openEvents(publicUrl, token, query, { providerId })
  t.teardown(() => stream.close())
  await stream.first(() => true)
  t.pass('server-sent events pass through at once')
  await app.app.services.audit.flush()
  const { auditEvents } = await app.ask('{ auditEvents(filter: { action: UPLOAD }) { nodes { address } } }', {}, token)
  t.same(auditEvents.nodes, [{ address: '127.0.0.1' }])
})

t.test('the release publishes what the repository builds', async t => {
  const { on, jobs } = parse(await readFile(new URL('../.github/workflows/release.yml', import.meta.url), 'utf8'))
  t.same(on.push.tags, ['v*'])
  const { test, packages, image } = jobs
  t.ok(test.steps.some(({ run }: { run?: string }) => run === '.ci/run'))
  for (const job of [packages, image]) t.equal(job.needs, 'test', 'nothing is published before the tests pass')
  const build = image.steps.find(({ uses = '' }) => uses.startsWith('docker/build-push-action'))
  t.equal(build.with.platforms, 'linux/amd64,linux/arm64')
  for (const { 'working-directory': directory = '.', run } of packages.steps) {
    if (!run?.startsWith('npm publish')) continue
    const { name, version } = JSON.parse(
      await readFile(new URL(`../${directory}/package.json`, import.meta.url), 'utf8'),
    )
    t.match(version, /^\d+\.\d+\.\d+$/, `${name} has a version`)
  }
})

t.test('the processes of npm test run in shards of a pull request, and every file at night in full', async t => {
  const workflow = async (name: string) =>
    parse(await readFile(new URL(`../.github/workflows/${name}.yml`, import.meta.url), 'utf8'))
  const root = new URL('..', import.meta.url).pathname
  const { strategy, steps } = (await workflow('pull-request')).jobs.test
  t.match(steps.at(-1), { run: '.ci/run', env: { SHARD: `\${{ matrix.shard }}/${strategy.matrix.shard.length}` } })
  const { shard: shards }: { shard: number[] } = strategy.matrix
  t.same(
    shards,
    shards.map((_, index) => index),
  )
  const nightly = await workflow('nightly')
  t.ok(nightly.on.schedule[0].cron)
  t.ok(nightly.jobs.test.steps.some(({ run }: { run?: string }) => run === 'npm run test:nightly'))
  // Each list takes seconds of processor time.
  if (!isNight) return
  const list = async (...command: [string, ...string[]]) =>
    (await runProgram({ environment: {}, cwd: root, command })).stdout.trim().split('\n')
  const all = await list('npx', 'tap', 'list')
  for (const shard of shards) {
    const names = await list('.ci/shard', String(shard), String(shards.length))
    t.same(
      names,
      all.filter((_, index) => (index + 1) % shards.length === shard),
      'each file in one shard',
    )
    t.ok(names.length > 5)
    t.ok(names.filter(name => name.startsWith('test/_together/')).length > 3, 'each shard has some of the long groups')
  }
})

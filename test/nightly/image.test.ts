/** Tests the image without Docker: runs the steps of the Dockerfile in folders and starts its server. */
import { chmod, copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { definitions } from '../../src/settings/definitions.ts'
import { readSettings } from '../../src/settings/index.ts'
import { client, password } from '../support/client.ts'
import { all, carryOut, environmentOf, execForm, parseDockerfile, type Stage } from '../support/dockerfile.ts'
import { freePort } from '../support/free-port.ts'
import { npmEnvironment } from '../support/npm.ts'
import { runProgram, startProgram, temporaryFolder } from '../support/program.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (name: string) => readFile(join(root, name), 'utf8')
const stages = parseDockerfile(await read('Dockerfile'))
const final: Stage = stages.at(-1) ?? { name: '', instructions: [] }
const environment = environmentOf(final)

/** The user that runs the server if the machine has no user `node`. */
const user = process.getuid?.() === 0 ? 'nobody' : String(process.getuid?.())

// Installing packages over a slow network takes long.
t.setTimeout(300_000)

t.test('the Dockerfile sets what the scripts and the server need', async t => {
  t.same(
    stages.map(({ name }) => name),
    ['build', 'dependencies', ''],
  )
  t.equal(all(final, 'USER').join(), 'node', 'not root')
  t.equal(all(final, 'VOLUME').join(), environment.STOWAGE_DATA)
  t.equal(all(final, 'EXPOSE').join(), environment.PORT)
  t.same(
    Object.keys(environment).sort(),
    ['HOST', 'NODE_ENV', 'PORT', 'STOWAGE_DATA'],
    'the environment contains no secret',
  )
  t.match(readSettings(environment), { host: '0.0.0.0', port: 3000, dataFolder: '/data' })
  t.match(await read('Dockerfile'), /^ARG NODE_IMAGE=node:24-bookworm-slim$/m, 'a C library that PostgreSQL runs with')
})

t.test('the steps build a server that runs, stops and starts again', async t => {
  const folder = await temporaryFolder(t)
  await chmod(folder, 0o755)
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const node = join(bin, 'node')
  // A copy of Node, like that of the base image, because the other user may not have access to this one.
  await copyFile(process.execPath, node)
  const PATH = [bin, ...(process.env.PATH ?? '').split(delimiter).filter(path => !path.includes('node_modules'))].join(
    delimiter,
  )
  const image = join(folder, 'image')
  await mkdir(join(image, 'usr/local/bin'), { recursive: true })
  const build = {
    context: root,
    folderOf: (stage: string) => (stage === '' ? image : join(folder, stage)),
    async run(line: string, cwd: string) {
      if (line === 'scripts/image/install.sh') {
        // The dependencies of this test run come from the same lock file.
        await symlink(join(root, 'node_modules'), join(cwd, 'node_modules'))
        await mkdir(join(cwd, 'web'), { recursive: true })
        await symlink(join(root, 'web/node_modules'), join(cwd, 'web/node_modules'))
        return
      }
      const within = line.replace(/ \/(?=\w)/g, ` ${image}/`).replace(/ node(?= |$)/, ` ${user}`)
      const result = await runProgram({
        command: ['/bin/sh', '-c', within],
        environment: { ...npmEnvironment(), PATH },
        cwd,
      })
      if (result.status !== 0) throw new Error(`RUN ${within}: ${result.stdout}${result.stderr}`)
      t.pass(`RUN ${line}`)
    },
  }
  for (const stage of stages) await carryOut(stage, build)

  const home = join(image, 'stowage')
  const data = join(image, 'data')
  t.equal((await stat(data)).mode & 0o777, 0o700)
  const modules = await readdir(join(home, 'node_modules'))
  t.notOk(modules.includes('typescript'), 'development dependencies are excluded')
  t.same((await readdir(home)).sort(), ['LICENSE', 'README.md', 'dist', 'node_modules', 'package.json', 'scripts'])

  await t.test('other programs can import the server as a package', t => importAsPackage(t, home))

  const { uid, gid } = await stat(data)
  const port = await freePort()
  const asImage = {
    cwd: home,
    environment: { ...environment, PATH, STOWAGE_DATA: data, HOST: '127.0.0.1', PORT: String(port) },
    ...(process.getuid?.() === 0 && { uid, gid }),
  }
  const command = execForm(all(final, 'CMD').join())
  const healthCheck = execForm(all(final, 'HEALTHCHECK').join())
  const isHealthy = async () => (await runProgram({ ...asImage, command: healthCheck })).status
  t.equal(await isHealthy(), 1, 'before the start')

  const server = await startProgram(t, { ...asImage, command })
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
  t.equal(await isHealthy(), 0)
  await client(server.url).register('owner@example.org')
  const { stdout } = await runProgram({ ...asImage, command: [join(image, 'usr/local/bin/stowage'), '--help'] })
  t.match(stdout, /^Usage: stowage/, 'the command for docker exec')
  const asked = performance.now()
  t.equal(await server.stop(), 0)
  t.ok(performance.now() - asked < 10_000, 'within ten seconds')
  t.equal(await isHealthy(), 1, 'after the stop')

  const again = await startProgram(t, { ...asImage, command })
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { user { role } } }'
  const session = await client(again.url).ask(login, { input: { email: 'owner@example.org', password } })
  t.equal(session.login.user.role, 'OWNER', 'the data folder contains all state')
  t.equal(await again.stop(), 0)
})

/** Imports the package from another program, with and without type checking. */
async function importAsPackage(t: Test, home: string): Promise<void> {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'node_modules'))
  await symlink(home, join(folder, 'node_modules/stowage'))
  await symlink(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(folder, 'program.ts'),
    `import { readSettings, type Settings, start } from 'stowage'
     import { type AdapterDefinition, apiVersion, StorageError } from 'stowage/adapter'
     import { conformanceCases } from 'stowage/adapter/conformance'
     const adapter: AdapterDefinition = {
       type: 'mine', apiVersion, title: 'Mine', configSchema: { type: 'object', properties: {} },
       open: async () => { throw new StorageError('UNAVAILABLE', 'It is not there.') },
     }
     const cases: { name: string }[] = conformanceCases({ open: () => adapter.open({}, null as never) })
     const settings: Settings = readSettings({})
     process.stdout.write([typeof start, settings.port, cases.length > 10].join())`,
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = '--strict --module nodenext --target es2024 --types node --skipLibCheck false program.ts'.split(' ')
  const run = (...command: [string, ...string[]]) =>
    runProgram({ environment: {}, cwd: folder, command: [process.execPath, ...command] })
  t.match(await run(tsc, ...options), { status: 0, stdout: '' })
  t.match(await run('program.js'), { status: 0, stdout: 'function,3000,true', stderr: '' })
}

t.test('the compose file starts the server with PostgreSQL and secrets from the environment', async t => {
  const { services, volumes } = parse(await read('compose.yaml'))
  const { stowage, postgres } = services
  t.match(stowage, {
    build: '.',
    init: true,
    restart: 'unless-stopped',
    depends_on: { postgres: { condition: 'service_healthy' } },
  })
  t.ok(Number.parseInt(stowage.stop_grace_period, 10) >= 20, 'the grace period is enough for transfers and cleanup')
  t.same(stowage.ports, [`127.0.0.1:3000:${environment.PORT}`])
  t.match(stowage.volumes, [`files:${environment.STOWAGE_DATA}`])
  t.same(Object.keys(volumes).sort(), ['database', 'files'])
  t.match(postgres.image, /^postgres:(1[4-9]|[2-9]\d)/)
  t.match(postgres.healthcheck.test, ['CMD', 'pg_isready'])

  for (const name of Object.keys(stowage.environment)) t.ok(name in definitions, `${name} is a setting`)
  const given = { POSTGRES_PASSWORD: 'b7f1', STOWAGE_SECRET: 'x'.repeat(32), STOWAGE_SETUP_CODE: 'y'.repeat(32) }
  const settings = readSettings(interpolateAll(stowage.environment, given))
  t.equal(settings.databaseUrl, 'postgres://stowage:b7f1@postgres:5432/stowage')
  t.equal(settings.secret, given.STOWAGE_SECRET)
  t.equal(settings.setupCode, given.STOWAGE_SETUP_CODE)
  t.same(interpolateAll(postgres.environment, given), {
    POSTGRES_USER: 'stowage',
    POSTGRES_DB: 'stowage',
    POSTGRES_PASSWORD: 'b7f1',
  })
  for (const name of Object.keys(given)) {
    t.throws(() => interpolateAll(stowage.environment, { ...given, [name]: '' }), new RegExp(`^${name}: set it`))
  }
})

/** Expands ${NAME:-default} and ${NAME:?message} like Compose. */
function interpolateAll(values: Record<string, string>, given: Record<string, string>): Record<string, string> {
  const interpolate = (text: string) =>
    text.replace(/\$\{(\w+)(?::(-|\?)([^}]*))?\}/g, (_whole, name: string, kind: string, rest: string) => {
      if (given[name]) return given[name]
      if (kind === '?') throw new Error(`${name}: ${rest}`)
      return rest ?? ''
    })
  return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, interpolate(text)]))
}

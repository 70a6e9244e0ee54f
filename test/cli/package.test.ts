/** Installs the packed command line into an empty project, as its users do. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { pack, projectWith } from '../support/npm.ts'
import { runProgram, temporaryFolder } from '../support/program.ts'

// Installing packages over a slow network takes long.
t.setTimeout(300_000)

const root = new URL('../..', import.meta.url).pathname
const readPackage = async (path: string) => JSON.parse(await readFile(join(root, path), 'utf8'))

// test/nightly/package.test.ts installs the server, which contains the command line.
atNight(t, 'the installed package works without the server', async t => {
  const folder = await temporaryFolder(t)
  const project = await projectWith(folder, await pack(join(root, 'packages/cli'), folder))
  const contents = ['LICENSE', 'README.md', 'dist', 'package.json']
  t.same((await readdir(join(project, 'node_modules/@stowage/cli'))).toSorted(), contents)
  t.notOk((await readdir(join(project, 'node_modules'))).includes('fastify'))

  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  const { key } = await app.createKey(token, { name: 'laptop', scopes: ['write'] })
  const stowage = (...args: string[]) =>
    runProgram({
      environment: { HOME: folder, STOWAGE_URL: app.url, STOWAGE_API_KEY: key },
      cwd: project,
      command: [process.execPath, join(project, 'node_modules/.bin/stowage'), ...args],
    })
  t.match(await stowage('--help'), { status: 0, stdout: /^Usage: stowage <command>/ })
  t.match(await stowage('cp', 'package.json', 'Disk:/sub/'), { status: 0 })
  t.match(await stowage('ls', '-r', 'Disk:/'), { status: 0, stdout: 'sub/\nsub/package.json\n' })
})

t.test('all packages use the same dependencies', async t => {
  const [server, client, cli] = await Promise.all(
    ['package.json', 'packages/client/package.json', 'packages/cli/package.json'].map(readPackage),
  )
  t.same(cli.dependencies, client.dependencies, 'the command line contains the client')
  t.equal(cli.version, server.version)
  // The server has them in its bundle.
  for (const name of Object.keys(client.dependencies)) t.ok(server.devDependencies[name], name)
})

/** Installs the packed client into an empty project, as its users do. */
import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import t from 'tap'
import { build, type Rollup } from 'vite'
import { startApp } from '../../support/app.ts'
import { pack, projectWith } from '../../support/npm.ts'
import { runProgram, temporaryFolder } from '../../support/program.ts'
import { until } from '../../support/until.ts'

// Installing packages over a slow network takes long.
t.setTimeout(300_000)

const root = new URL('../../..', import.meta.url).pathname
const folder = await temporaryFolder(t)
const project = await projectWith(folder, await pack(join(root, 'packages/client'), folder))
const installed = join(project, 'node_modules/@stowage/client')

t.test('the package contains what its users need', async t => {
  t.same((await readdir(installed)).toSorted(), ['LICENSE', 'README.md', 'dist', 'examples', 'package.json'])
  const built = (await readdir(join(installed, 'dist'))).toSorted()
  const sources = (await readdir(join(root, 'packages/client/src'))).map(name => name.replace(/\.ts$/, ''))
  t.same(built, sources.flatMap(name => [`${name}.d.ts`, `${name}.js`]).toSorted())
})

t.test('the examples upload a folder, copy it and follow its changes', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const [providerId, copies] = [
    await app.connectProvider(token, 'memory', {}),
    await app.connectProvider(token, 'memory', {}),
  ]
  const { key } = await app.createKey(token, { name: 'backup', scopes: ['write'] })
  const environment = { STOWAGE_URL: app.url, STOWAGE_API_KEY: key }
  const commandOf = (name: string, args: string[]) => [process.execPath, join(installed, 'examples', name), ...args]
  const run = (name: string, ...args: string[]) =>
    runProgram({ environment, cwd: project, command: commandOf(name, args) as [string, ...string[]] })

  await mkdir(join(project, 'photos/2026'), { recursive: true })
  for (const name of ['a.txt', '2026/b.txt']) await writeFile(join(project, 'photos', name), `content of ${name}`)
  const upload = () => run('upload-folder.js', 'photos', providerId, '/photos')
  t.match(await upload(), { status: 0, stdout: 'photos/2026/b.txt -> /photos/2026/b.txt' })
  t.equal(await (await app.download(token, providerId, '/photos/a.txt')).text(), 'content of a.txt')
  t.match(await upload(), { status: 0, stdout: '/photos/a.txt exists' })

  const copy = () => run('copy-folder.js', providerId, '/photos', copies, '/')
  t.match(await copy(), { status: 0, stdout: 'SUCCEEDED: 2 files, 0 skipped, 0 failed' })
  t.equal(await (await app.download(token, copies, '/photos/2026/b.txt')).text(), 'content of 2026/b.txt')
  t.match(await copy(), { status: 0, stdout: ', 2 skipped, 0 failed' })

  // Otherwise the changes of the upload may still arrive.
  await app.app.services.audit.flush()
  const [program = '', ...args] = commandOf('follow-folder.js', [providerId, '/photos'])
  const follower = spawn(program, args, { env: environment, cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => follower.kill())
  const lines: string[] = []
  follower.stdout.setEncoding('utf8').on('data', (printed: string) => lines.push(...printed.trim().split('\n')))
  await until(() => lines.toSorted().join() === 'HAS /photos/2026,HAS /photos/a.txt' || lines)
  await app.upload(token, providerId, '/photos/c.txt', 'content')
  await until(() => lines.at(-1) === 'WRITTEN /photos/c.txt' || lines)
})

t.test('the README names methods that exist', async t => {
  const { Stowage } = await import(join(installed, 'dist/index.js'))
  const stowage = new Stowage({ url: 'http://localhost' })
  const readme = await readFile(join(installed, 'README.md'), 'utf8')
  const named = new Set([...readme.matchAll(/\bstowage\.([a-z]+(?:\.[a-zA-Z]+)?)/g)].map(([, path = '']) => path))
  t.ok(named.size > 6, [...named].join())
  for (const path of named) {
    const found = path.split('.').reduce((value, name) => value[name], stowage)
    t.type(found, 'function', path)
  }
})

t.test('the types of the package are complete', async t => {
  const types = join(project, 'node_modules/@types')
  await mkdir(types, { recursive: true })
  await symlink(join(root, 'node_modules/@types/node'), join(types, 'node'))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = '--strict --skipLibCheck false --module nodenext --target es2024 --noEmit'.split(' ')
  const check = async (program: string) => {
    await writeFile(join(project, 'program.ts'), program)
    const command = [process.execPath, tsc, ...options, 'program.ts'] as const
    return runProgram({ environment: {}, cwd: project, command: [...command] })
  }
  const program = `
    import { Stowage, type schema } from '@stowage/client'
    const stowage = new Stowage({ url: 'http://localhost' })
    const { me } = await stowage.graphql<{ me: Pick<schema.User, 'email'> }>('{ me { email } }')
    const email: string = me.email
    const path: string = await stowage.files.upload({ providerId: 'p', path: '/a', body: new Blob([email]) })
    for await (const { size } of stowage.files.walk({ providerId: 'p', path })) console.log(size)`
  t.match(await check(program), { status: 0, stdout: '' })
  t.match(await check(program.replace('email: string', 'email: number')), { status: 1, stdout: /not assignable/ })
})

t.test('the package is small', async t => {
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  t.same(Object.keys(dependencies), ['@0no-co/graphql.web', '@noble/hashes', 'eventsource-parser'])
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, lib: { entry: join(installed, 'dist/index.js'), formats: ['es'] } },
  })
  const [{ output }] = [built].flat() as [Rollup.RollupOutput]
  const codes = output.flatMap(part => (part.type === 'chunk' ? [part.code] : []))
  const sizes = await Promise.all(codes.map(async code => (await promisify(gzip)(code)).length))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  t.comment(`${(total / 1024).toFixed(1)} KB gzip for a browser, ${sizes.map(size => (size / 1024).toFixed(1))}`)
  t.ok(total < 22 * 1024)
  for (const code of codes) t.notMatch(code, /['"]node:/, 'nothing of Node.js')
})

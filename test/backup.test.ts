import { chmod, cp, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { client } from './support/client.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'

const backUp = (data: string, folder: string, environment: Record<string, string> = {}) =>
  runProgram({
    environment: { STOWAGE_DATA: data, ...environment },
    command: [process.execPath, main, 'backup', folder],
  })

t.test('beside a running server and alone, it is a data folder to start from', async t => {
  const home = await temporaryFolder(t)
  await chmod(home, 0o755)
  const data = join(home, 'data')
  const server = await startProgram(t, { environment: { STOWAGE_DATA: data, PORT: '0' } })
  const { token, id } = await client(server.url).register('owner@example.org')

  const beside = await backUp(data, join(home, 'beside'))
  t.same([beside.status, beside.stderr], [0, ''])
  t.match(beside.stdout, `${home}/beside;`)
  const { key } = await client(server.url).createKey(token, { name: 'made after the first backup', scopes: ['read'] })
  t.equal(await server.stop(), 0, 'which was not disturbed')
  t.equal((await backUp(data, join(home, 'alone'))).status, 0)

  for (const [name, knowsKey] of [
    ['beside', false],
    ['alone', true],
  ] as const) {
    const folder = join(home, name)
    t.equal((await stat(folder)).mode & 0o777, 0o700)
    t.equal((await stat(join(folder, 'secret'))).mode & 0o777, 0o600)
    const restored = join(home, `${name}-restored`)
    await cp(folder, restored, { recursive: true })
    const again = await startProgram(t, { environment: { STOWAGE_DATA: restored, PORT: '0' } })
    const { data } = await client(again.url).graphql('{ me { id } }', {}, token)
    t.equal(data.me.id, id, 'the session of before is good: database and secret belong together')
    t.equal((await client(again.url).graphql('{ me { id } }', {}, key)).status, knowsKey ? 200 : 401)
    t.equal(await again.stop(), 0)
  }
  t.same(
    (await readdir(home)).filter(name => name.includes('partial')),
    [],
  )
})

t.test('what cannot be backed up is said in one sentence', async t => {
  const home = await temporaryFolder(t)
  await writeFile(join(home, 'file'), 'mine')
  const data = join(home, 'data')
  const refused = async (folder: string, sentence: RegExp, environment: Record<string, string> = {}) => {
    const { status, stdout, stderr } = await backUp(data, folder, environment)
    t.same([status, stdout], [1, ''])
    t.match(stderr, sentence)
    t.equal(stderr.trim().split('\n').length, 1, stderr)
  }
  await refused(join(home, 'new'), /^Stowage cannot back up: there is no database in .*STOWAGE_DATA/)
  const own = { DATABASE_URL: 'postgres://127.0.0.1:1/x', STOWAGE_SECRET: 'x'.repeat(32) }
  await refused(join(home, 'new'), /^Stowage cannot back up: .*pg_dump/, own)
  const server = await startProgram(t, { environment: { STOWAGE_DATA: data, PORT: '0' } })
  await refused(join(home, 'file'), /is there already/)
  await refused(data, /is there already/)
  await refused(join(home, 'nowhere', 'new'), /choose another place/)
  t.equal(await server.stop(), 0)
  t.same((await readdir(home)).sort(), ['data', 'file'])
})

t.test('what it does not understand is answered with the usage', async t => {
  for (const args of [['backup'], ['backup', 'a', 'b'], ['backup', '--help'], ['restore', 'a']]) {
    const result = await runProgram({ environment: {}, command: [process.execPath, main, ...args] })
    t.same([result.status, result.stdout], [2, ''])
    t.match(result.stderr, /^Usage: stowage/)
  }
})

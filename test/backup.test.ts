import { cp, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readSettings } from '../src/settings/index.ts'
import { backUp } from '../src/start/backup.ts'
import { client } from './support/client.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'

const command = (...args: string[]) => [process.execPath, main, ...args] as const

t.test('a server can start from a backup, made with or without a running server', async t => {
  const home = await temporaryFolder(t)
  const data = join(home, 'data')
  const environment = { STOWAGE_DATA: data, PORT: '0' }
  const server = await startProgram(t, { environment })
  const { token, id } = await client(server.url).register('owner@example.org')

  const beside = await runProgram({ environment, command: command('backup', join(home, 'beside')) })
  t.same([beside.status, beside.stderr], [0, ''])
  t.match(beside.stdout, `${home}/beside;`)

  await t.test('a failed backup says why in one sentence and leaves nothing', async t => {
    await writeFile(join(home, 'file'), 'mine')
    const before = await readdir(home)
    const refused = (folder: string, message: RegExp, variables: Record<string, string> = {}) => {
      const settings = readSettings({ ...environment, ...variables })
      return t.rejects(backUp(settings, join(home, folder), new AbortController().signal), { message })
    }
    await refused('file', /already exists: choose/)
    await refused('data', /already exists: choose/)
    await refused('nowhere/new', /choose another folder\.$/)
    await refused('new', /^there is no database in .*: set STOWAGE_DATA/, { STOWAGE_DATA: home })
    await refused('new', /pg_dump/, { DATABASE_URL: 'postgres://127.0.0.1:1/x', STOWAGE_SECRET: 'x'.repeat(32) })
    const interrupted = AbortSignal.abort(new Error('SIGINT interrupted the backup.'))
    await t.rejects(backUp(readSettings(environment), join(home, 'new'), interrupted), {
      message: 'SIGINT interrupted the backup.',
    })
    t.same(await readdir(home), before)
    const { status, stdout, stderr } = await runProgram({ environment, command: command('backup', data) })
    t.same([status, stdout], [1, ''])
    t.match(stderr, /^Stowage cannot back up: .*\n$/)
  })

  const { key } = await client(server.url).createKey(token, { name: 'made after the first backup', scopes: ['read'] })
  t.equal(await server.stop(), 0, 'the server was not disturbed')
  t.equal((await runProgram({ environment, command: command('backup', join(home, 'alone')) })).status, 0)
  for (const name of ['beside', 'alone']) {
    t.equal((await stat(join(home, name))).mode & 0o777, 0o700)
    t.equal((await stat(join(home, name, 'secret'))).mode & 0o777, 0o600)
  }

  await cp(join(home, 'alone'), join(home, 'restored'), { recursive: true })
  const restored = await startProgram(t, { environment: { ...environment, STOWAGE_DATA: join(home, 'restored') } })
  for (const credential of [token, key]) {
    const { data } = await client(restored.url).graphql('{ me { id } }', {}, credential)
    t.equal(data.me.id, id, 'the backup has the matching database and secret')
  }
  t.equal(await restored.stop(), 0)
})

t.test('unknown arguments print the usage', async t => {
  for (const args of [['backup'], ['backup', '--help'], ['backup', 'a', 'b']]) {
    const result = await runProgram({ environment: {}, command: command(...args) })
    t.same([result.status, result.stdout], [2, ''])
    t.match(result.stderr, /^Usage: stowage/)
  }
})

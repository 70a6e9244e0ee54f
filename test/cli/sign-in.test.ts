/** Signing in and out, and where the API key goes. */
import { once } from 'node:events'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { TOTP } from 'otpauth'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { commandLine } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

const app = await startApp(t)
const { token } = await app.register('owner@example.org')
await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
const { key } = await app.createKey(token, { name: 'laptop', scopes: ['write'] })
const wrongKey = `stw_${'0'.repeat(40)}`

t.test('login stores a key that works, for its owner alone', async t => {
  const cli = await commandLine(t)
  const file = join(cli.home, '.config/stowage/credentials.json')
  const unknown = await cli.run(['whoami'])
  t.equal(unknown.status, 3)
  t.match(unknown.stderr, /^stowage: You are not signed in: run "stowage login <url>"/)

  const refused = await cli.run(['login', app.url], { input: `${wrongKey}\n` })
  t.equal(refused.status, 3)
  t.match(refused.stderr, 'Sign in with "stowage login"')
  await t.rejects(stat(file), 'a key that does not work is not stored')

  const signedIn = await cli.run(['login', `${app.url}/`], { input: `${key}\n` })
  t.match(signedIn, { status: 0, stdout: '' })
  t.match(signedIn.stderr, `Signed in to ${app.url} as owner@example.org`)
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.equal((await stat(dirname(file))).mode & 0o777, 0o700)

  const shown = await cli.run(['whoami'])
  t.equal(shown.status, 0)
  t.match(shown.stdout, /^person: {4}owner@example\.org \(OWNER\)$/m)
  t.match(shown.stdout, /^key: {7}laptop/m)
  const { lines } = await cli.json('whoami')
  t.match(lines, [{ url: app.url, email: 'owner@example.org', credential: 'API_KEY', scopes: ['read', 'write'] }])
  t.equal(lines[0].restrictions, null)
  t.equal(await cli.output('ls'), 'Disk:\n')
  const printed = [unknown, refused, signedIn, shown].map(({ stdout, stderr }) => stdout + stderr).join()
  t.notOk(printed.includes(key) || printed.includes(wrongKey), 'no key is printed')

  await chmod(file, 0o640)
  const unsafe = await cli.run(['ls'])
  t.equal(unsafe.status, 1)
  t.match(unsafe.stderr, /Other users can read or change .*: run "chmod 600/)
  await chmod(file, 0o600)

  t.match(await cli.run(['logout']), { status: 0, stderr: `The API key for ${app.url} is deleted.\n` })
  t.equal((await cli.run(['ls'])).status, 3)
  t.match(await cli.json('logout'), { status: 0, lines: [{ url: null }] })
})

t.test('a person signs in with a second factor, and gets a key for the machine', async t => {
  const ann = await app.register('ann@example.org')
  const role = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  await app.ask(role, { input: { userId: ann.id, role: 'EDITOR' } }, token)
  const { totpSetup } = await app.ask('{ totpSetup { secret ticket } }', {}, ann.token)
  const totp = new TOTP({ secret: totpSetup.secret })
  const add = 'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }'
  const { addTotp } = await app.ask(add, { input: { ticket: totpSetup.ticket, code: totp.generate() } }, ann.token)
  const cli = await commandLine(t)
  const without = await cli.run(['login', app.url, '--email', 'ann@example.org'], { input: password })
  t.match(without, { status: 2, stderr: /Without a terminal nobody can enter a password/ })
  t.match(await cli.run(['login', app.url, '--scope', 'read'], { input: key }), { status: 2 })

  const login = cli.startOnTerminal(['login', app.url, '--email', 'ann@example.org', '--scope', 'read'])
  await login.hasPrinted(`Password of ann@example.org for ${app.url}: `)
  login.process.stdin?.write(`${password}\r`)
  await login.hasPrinted('Code of the authenticator app, or a recovery code: ')
  login.process.stdin?.write('000000\r')
  await login.hasPrinted('The code is wrong.')
  // Between two questions, the terminal shows what is typed.
  await until(() => login.printed().split('Code of the authenticator app').length === 3)
  login.process.stdin?.write(`${addTotp.recoveryCodes[0]}\r`)
  t.equal(await login.exited, 0, login.printed())
  t.match(login.printed(), 'as ann@example.org')
  t.notOk(login.printed().includes(password) || login.printed().includes(addTotp.recoveryCodes[0]), 'nothing is shown')
  const { lines } = await cli.json('whoami')
  t.match(lines, [{ email: 'ann@example.org', credential: 'API_KEY', scopes: ['read'], key: { name: /^stowage on / } }])
  const { sessions } = await app.ask('{ sessions { current } }', {}, ann.token)
  t.equal(sessions.length, 1, 'the session of the command has ended')
})

atNight(t, 'a terminal asks for the key without showing it', async t => {
  const cli = await commandLine(t)
  const login = cli.startOnTerminal(['login', app.url])
  await login.hasPrinted(`API key for ${app.url}: `)
  login.process.stdin?.write(`${key}\r`)
  t.equal(await login.exited, 0, login.printed())
  t.match(login.printed(), 'Signed in')
  t.notOk(login.printed().includes(key), 'the terminal does not show the key')
  t.equal(await cli.output('ls'), 'Disk:\n')

  const interrupted = cli.startOnTerminal(['login', app.url])
  await interrupted.hasPrinted('API key for')
  interrupted.process.stdin?.write('\x03')
  t.equal(await interrupted.exited, 130)
})

t.test('the environment overrides the stored server and key', async t => {
  const cli = await commandLine(t, { STOWAGE_URL: app.url, STOWAGE_API_KEY: key })
  t.equal(await cli.output('ls'), 'Disk:\n')
  t.match(await cli.run(['ls'], { environment: { STOWAGE_API_KEY: wrongKey } }), { status: 3 })
  t.match(await cli.run(['ls'], { environment: { STOWAGE_URL: 'files.example.org' } }), { status: 2 })
  t.match(await cli.run(['ls'], { environment: { STOWAGE_API_KEY: 'two words' } }), { status: 2 })
})

t.test('a stored key is sent only to its server', async t => {
  const cli = await commandLine(t)
  await cli.run(['login', app.url], { input: key })
  let requests = 0
  const other = createServer((_request, response) => {
    requests += 1
    response.end('{}')
  })
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => void other.close())
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const { status, stderr } = await cli.run(['ls'], { environment: { STOWAGE_URL: url } })
  t.equal(status, 3)
  t.match(stderr, `There is no stored API key for ${url}`)
  t.equal(requests, 0)
  t.match(await cli.run(['ls'], { environment: { STOWAGE_URL: `${app.url}/` } }), { status: 0 })
})

atNight(t, 'a damaged file of credentials says what to do', async t => {
  const cli = await commandLine(t)
  const file = join(cli.home, '.config/stowage/credentials.json')
  await mkdir(dirname(file), { recursive: true })
  for (const content of ['', '{', '{}', '[]', '{"url":1,"key":2}']) {
    await writeFile(file, content, { mode: 0o600 })
    t.match(await cli.run(['ls']), { status: 1, stderr: /is damaged: run "stowage login <url>" again/ })
  }
  t.equal((await cli.run(['logout'])).status, 0)
  await t.rejects(readFile(file))
})

t.test('keys are created with limits, listed and revoked', async t => {
  const { key: admin } = await app.createKey(token, { name: 'admin', scopes: ['admin'] })
  const cli = await commandLine(t, { STOWAGE_URL: app.url, STOWAGE_API_KEY: admin })
  const created = await cli.run(['keys', 'create', 'Reports', '--at', 'Disk:/reports', '--expires', '30d'])
  t.equal(created.status, 0)
  t.match(created.stdout, /^stw_[0-9a-f]{40}\n$/, 'the standard output has the key alone')
  const limited = { environment: { STOWAGE_API_KEY: created.stdout.trim() } }
  const shown = await cli.run(['whoami'], limited)
  t.match(shown.stdout, /^scopes: {4}read$/m)
  t.match(shown.stdout, /^storages: {2}Disk:\/reports$/m)
  const outside = await cli.run(['ls', 'Disk:/'], limited)
  t.match(outside, { status: 3, stderr: 'stowage: This credential has access only to /reports.\n' })
  t.match(await cli.run(['keys', 'list'], limited), { status: 3 })

  const { lines } = await cli.json('keys', 'list')
  t.match(
    lines.map(({ name, scopes }) => [name, scopes.at(-1)]),
    [
      ['Reports', 'read'],
      ['admin', 'admin'],
      ['laptop', 'write'],
    ],
  )
  const [{ id }] = lines
  t.match(await cli.json('keys', 'revoke', id), { status: 0, lines: [{ id, state: 'revoked' }] })
  t.match(await cli.run(['ls'], limited), { status: 3 })
  t.notMatch(await cli.output('keys', 'list'), id)
  t.match(await cli.output('keys', 'list', '--all'), id)
  const missing = '00000000-0000-4000-8000-000000000000'
  t.match(await cli.json('keys', 'revoke', missing), { status: 4, errors: [{ reason: 'NOT_FOUND', subject: missing }] })
  t.match(await cli.run(['keys', 'create', 'x', '--expires', 'soon']), { status: 2 })
  t.match(await cli.run(['keys', 'create', 'x', '--scope', 'root']), { status: 2 })
  t.match(await cli.json('keys', 'create', 'y'), { lines: [{ name: 'y', key: /^stw_/ }] })
})

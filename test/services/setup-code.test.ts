/** If the operator has set a setup code, only a person with the code can become the owner. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { warnUntilOwned } from '../../src/start/serve.ts'
import { databaseSettings } from '../servers/postgres.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { main, runProgram, startProgram, temporaryFolder } from '../support/program.ts'
import { eventually, until } from '../support/until.ts'

const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token user { role } } }'
const installation = '{ installation { hasOwner needsSetupCode } }'
const setupCode = 'a setup code of these tests'

const found = (app: TestApp, more: object = {}, email = 'owner@example.org') =>
  app.graphql(register, { input: { email, password, ...more } })

t.test('only a person with the code becomes the owner', async t => {
  const app = await startApp(t, { settings: { setupCode } })
  t.same((await app.ask(installation)).installation, { hasOwner: false, needsSetupCode: true })
  const wrong = [
    '',
    'x',
    `${setupCode} `,
    setupCode.toUpperCase(),
    setupCode.slice(1),
    'é'.repeat(10),
    'x'.repeat(100_000),
  ]
  for (const given of [{}, { setupCode: null }, { invite: setupCode }, ...wrong.map(text => ({ setupCode: text }))]) {
    const { errors } = await found(app, given)
    t.match(
      errors,
      [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_SETUP_CODE' } }],
      JSON.stringify(given).slice(0, 50),
    )
  }
  t.same(await app.db.selectFrom('users').selectAll().execute(), [], 'no account was created')
  t.match((await found(app, { setupCode })).data, { register: { user: { role: 'OWNER' } } })
  t.same((await app.ask(installation)).installation, { hasOwner: true, needsSetupCode: false })
  t.match(
    (await found(app, {}, 'second@example.org')).data,
    { register: { user: { role: 'NONE' } } },
    'later registrations need no code',
  )
  t.match((await found(app, { setupCode }, 'third@example.org')).data, { register: { user: { role: 'NONE' } } })
})

atNight(
  t,
  'if many people register first at once, one with the code becomes the owner, and nobody without it',
  async t => {
    const app = await startApp(t, { settings: { setupCode } })
    const people = Array.from({ length: 8 }, (_, n) => found(app, n % 2 ? { setupCode } : {}, `p${n}@example.org`))
    const answers = await Promise.all(people)
    t.equal(answers.filter(({ data }) => data?.register.user.role === 'OWNER').length, 1)
    const [owner] = await app.db.selectFrom('users').selectAll().orderBy('created_at').execute()
    t.match(owner?.email, /^p[1357]@/)
  },
)

atNight(t, 'without a setting no code is needed', async t => {
  const app = await startApp(t)
  t.same((await app.ask(installation)).installation, { hasOwner: false, needsSetupCode: false })
  t.match((await found(app)).data, { register: { user: { role: 'OWNER' } } })
})

t.test('guesses are limited by address without affecting others', async t => {
  const app = await startApp(t, { settings: { setupCode, signInLimit: 100, trustedProxies: ['127.0.0.1'] } })
  const from = async (address: string, input: object) => {
    const response = await app.request('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ query: register, variables: { input } }),
    })
    const body = (await response.json()) as { errors?: { extensions: { reason: string } }[] }
    return body.errors?.[0]?.extensions.reason ?? 'none'
  }
  const guesses: string[] = []
  for (let n = 0; n < 12; n += 1) {
    guesses.push(await from('192.0.2.1', { email: 'owner@example.org', password, setupCode: `guess number ${n}` }))
  }
  t.same(guesses, [...Array.from({ length: 10 }, () => 'INVALID_SETUP_CODE'), 'RATE_LIMITED', 'RATE_LIMITED'])
  t.equal(await from('192.0.2.1', { email: 'owner@example.org', password, setupCode }), 'RATE_LIMITED')
  t.equal(
    await from('192.0.2.2', { email: 'owner@example.org', password, setupCode }),
    'none',
    'the owner, from elsewhere',
  )
})

atNight(t, 'the log warns until the workspace has an owner', async t => {
  const app = await startApp(t)
  const warned: string[] = []
  const watch = (host: string, code: string | null = null) => {
    const { installation } = app.app.services.workspaces
    const warn = (line: string) => warned.push(line)
    t.teardown(warnUntilOwned({ hosts: [host], setupCode: code, installation, warn, interval: 20 }))
  }
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) watch(host)
  watch('0.0.0.0', setupCode)
  await sleep(200)
  t.same(warned, [], 'there is no warning on loopback or with a code')
  watch('::')
  await eventually(() => assert(warned.length >= 3))
  t.match(warned[0], /become its owner.*STOWAGE_SETUP_CODE/)
  await app.register('owner@example.org')
  // A check that was already running may still warn.
  await until(async () => {
    warned.length = 0
    await sleep(200)
    return warned.length === 0 || warned
  })
  watch('192.0.2.1')
  await sleep(200)
  t.same(warned, [], 'the warnings stop once there is an owner')
})

const namespace = process.getuid?.() === 0 ? ['--net'] : ['--map-current-user', '--net']
const hasNamespaces = (await runProgram({ environment: {}, command: ['unshare', ...namespace, 'true'] })).status === 0

atNight(t, 'the server warns when it listens beyond loopback', async t => {
  if (!hasNamespaces) throw new Error('unshare makes no network namespace here')
  const data = await temporaryFolder(t)
  const database = await databaseSettings(t)
  // Run it in a network namespace, where nobody else can connect.
  const command = ['unshare', ...namespace, process.execPath, main] as [string, ...string[]]
  const start = async (more: Record<string, string>) => {
    const program = await startProgram(t, {
      environment: {
        STOWAGE_DATA: data,
        // A socket on the disk, which the network namespace does not hide.
        ...database,
        PORT: '0',
        HOST: '0.0.0.0',
        ...more,
        STOWAGE_PUBLIC_URL: 'http://files.example.org',
      },
      command,
    })
    const line = 'Anyone who can connect to this server can become its owner'
    if (Object.keys(more).length === 0) await eventually(() => assert(program.output().includes(line)))
    else t.notMatch(program.output(), line)
    return program
  }
  const open = await start({})
  t.notMatch(open.output(), 'setupCode')
  t.equal(await open.stop(), 0)
  const closed = await start({ STOWAGE_SETUP_CODE: setupCode })
  t.match(closed.output(), '"setupCode": "<STOWAGE_SETUP_CODE>"', 'the call to paste')
  t.notMatch(closed.output(), setupCode)
  t.equal(await closed.stop(), 0)
})

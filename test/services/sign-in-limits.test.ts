import assert from 'node:assert/strict'
import { sql } from 'kysely'
import t from 'tap'
import { deleteEndedRateLimits } from '../../src/db/rate-limits.ts'
import { eventually } from '../http/socket.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { type GraphqlResult, password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { lockTable } from '../support/lock-table.ts'
import { ask, makeShare } from '../support/shares.ts'

const login = 'mutation ($input: LoginInput!) { login(input: $input) { token user { email } } }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token user { role } } }'
const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'

/** The limits: 10 failures for an account from one address, 20 from all addresses, 100 from one address. */
const signInLimit = 100
const settings = { signInLimit, trustedProxies: ['127.0.0.1'] }

const refused = { extensions: { code: 'FORBIDDEN', reason: 'RATE_LIMITED', retryable: true } }

interface Answer extends GraphqlResult {
  retryAfter: string | null
}

async function send(app: TestApp, query: string, input: object, from: string, token?: string): Promise<Answer> {
  const response = await app.request('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify({ query, variables: { input } }),
    token: token ?? null,
  })
  const { data = null, errors = [] } = JSON.parse(await response.text())
  return { status: response.status, data, errors, retryAfter: response.headers.get('retry-after') }
}

const guess = (app: TestApp, email: string, from: string, secret = 'a wrong password') =>
  send(app, login, { email, password: secret }, from)

const reasonOf = ({ errors }: GraphqlResult) => errors[0]?.extensions.reason ?? 'none'

function tally(answers: readonly GraphqlResult[]): Record<string, number> {
  const groups = Map.groupBy(answers, reasonOf)
  return Object.fromEntries([...groups].map(([reason, group]) => [reason, group.length]))
}

/** Ends all windows. */
async function later(app: TestApp): Promise<void> {
  await sql`update rate_limits set ends_at = now() - interval '1 second'`.execute(app.db)
}

const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

t.test('concurrent guesses at one account from one address are limited across replicas', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  const replicas = [app, await app.replica()]
  const answers = await times(30, n => guess(replicas[n % 2] ?? app, 'Owner@Example.org', '192.0.2.1'))
  t.same(tally(answers), { WRONG_EMAIL_OR_PASSWORD: 10, RATE_LIMITED: 20 })
  const [limited] = answers.filter(answer => reasonOf(answer) === 'RATE_LIMITED')
  t.match(limited, { status: 429, data: null, errors: [refused] })
  const wait = Number(limited?.errors[0]?.extensions.retryAfterMs)
  t.ok(wait > 300_000 && wait <= 600_000, `${wait} ms`)
  t.equal(limited?.retryAfter, String(Math.ceil(wait / 1000)))
  t.match(await guess(app, 'owner@example.org', '192.0.2.1', password), { status: 429, errors: [refused] })
  t.equal(reasonOf(await guess(app, 'owner@example.org', '192.0.2.2', password)), 'none', 'from elsewhere')
  t.equal(reasonOf(await guess(app, 'second@example.org', '192.0.2.1')), 'WRONG_EMAIL_OR_PASSWORD')
  await later(app)
  t.equal(
    reasonOf(await guess(app, 'owner@example.org', '192.0.2.1', password)),
    'none',
    'allowed again after the window',
  )
})

t.test('several logins in one document count separately', async t => {
  const app = await startApp(t, { settings })
  const field = (n: number) => `a${n}: login(input: { email: "a@example.org", password: "wrong" }) { token }`
  const document = `mutation { ${[1, 2, 3].map(field).join(' ')} }`
  const answers = await times(12, () => send(app, document, {}, '192.0.2.1'))
  const statuses = answers.map(({ status }) => status).toSorted()
  t.same(statuses, [...Array.from({ length: 10 }, () => 200), 429, 429])
})

atNight(t, 'a success resets the failures of its account, not those of others', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  for (let round = 0; round < 15; round++) {
    const wrong = await times(9, () => guess(app, 'owner@example.org', '192.0.2.1'))
    const expected = round < 11 ? 'WRONG_EMAIL_OR_PASSWORD' : 'RATE_LIMITED'
    if (round !== 11) t.same(tally(wrong), { [expected]: 9 }, `round ${round}`)
    await guess(app, 'owner@example.org', '192.0.2.1', password)
  }
  t.match(await guess(app, 'other@example.org', '192.0.2.1', password), {
    errors: [{ message: /Too many wrong passwords from this address/ }],
  })
})

t.test('guesses from many addresses limit each other but not the owner', async t => {
  const app = await startApp(t, { settings })
  const home = '2001:db8:1::1'
  await app.register('owner@example.org')
  t.equal(reasonOf(await guess(app, 'owner@example.org', home, password)), 'none')
  const answers = await times(40, n => guess(app, 'owner@example.org', `198.51.100.${n}`))
  t.same(tally(answers), { WRONG_EMAIL_OR_PASSWORD: 20, RATE_LIMITED: 20 })
  t.equal(reasonOf(await guess(app, 'owner@example.org', '203.0.113.1', password)), 'RATE_LIMITED', 'a new address')
  t.equal(
    reasonOf(await guess(app, 'owner@example.org', '2001:db8:1::2', password)),
    'none',
    'an address that signed in before',
  )
  t.equal(reasonOf(await guess(app, 'nobody@example.org', '198.51.100.1')), 'WRONG_EMAIL_OR_PASSWORD')
})

atNight(t, 'a refused try does not count towards other limits', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  await times(45, () => guess(app, 'owner@example.org', '192.0.2.1'))
  const others = await times(10, n => guess(app, 'owner@example.org', `198.51.100.${n}`))
  t.same(tally(others), { WRONG_EMAIL_OR_PASSWORD: 10 }, 'the limit of the account')
  for (let round = 0; round < 2; round++) await times(45, () => guess(app, 'owner@example.org', '192.0.2.1'))
  t.equal(
    reasonOf(await guess(app, 'second@example.org', '192.0.2.1')),
    'WRONG_EMAIL_OR_PASSWORD',
    'the limit of the address is not exhausted',
  )
})

t.test('guesses at many accounts from one address or IPv6 network are limited', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 20 } })
  for (const from of [() => '192.0.2.1', (n: number) => `2001:db8:0:7::${n}`]) {
    const answers = await times(30, n => guess(app, `p${n}@example.org`, from(n)))
    t.same(tally(answers), { WRONG_EMAIL_OR_PASSWORD: 20, RATE_LIMITED: 10 })
  }
  t.equal(reasonOf(await guess(app, 'p@example.org', '2001:db8:0:8::1')), 'WRONG_EMAIL_OR_PASSWORD')
})

t.test('a forwarded address counts only from a trusted proxy', async t => {
  const app = await startApp(t, { settings: { signInLimit: 20 } })
  const answers = await times(30, n => guess(app, `p${n}@example.org`, `192.0.2.${n}`))
  t.same(tally(answers), { WRONG_EMAIL_OR_PASSWORD: 20, RATE_LIMITED: 10 })

  const behind = await startApp(t, { settings: { ...settings, signInLimit: 20 } })
  const forged = await times(30, n => guess(behind, `p${n}@example.org`, `192.0.2.${n}, 198.51.100.1`))
  t.same(
    tally(forged),
    { WRONG_EMAIL_OR_PASSWORD: 20, RATE_LIMITED: 10 },
    'addresses that a client adds in front are ignored',
  )
})

t.test('guesses at the current password count as failed logins', async t => {
  const app = await startApp(t, { settings })
  const { token } = await app.register('owner@example.org')
  const input = { currentPassword: 'a wrong password', newPassword: 'another long password' }
  t.same(tally(await times(7, () => send(app, change, input, '192.0.2.1', token))), { WRONG_EMAIL_OR_PASSWORD: 7 })
  t.same(tally(await times(7, () => guess(app, 'owner@example.org', '192.0.2.1'))), {
    WRONG_EMAIL_OR_PASSWORD: 3,
    RATE_LIMITED: 4,
  })
  const right = { ...input, currentPassword: password }
  t.equal(reasonOf(await send(app, change, right, '192.0.2.1', token)), 'RATE_LIMITED')
  t.equal(reasonOf(await send(app, change, right, '192.0.2.2', token)), 'none')
})

atNight(t, 'registrations are limited by address and by email', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 20 } })
  await app.register('owner@example.org')
  const attempt = (email: string, from: string) => send(app, register, { email, password }, from)
  await times(30, n => send(app, register, { email: 'x', password: `${n}` }, '192.0.2.1'))
  const answers = await times(30, n => attempt(`p${n}@example.org`, '192.0.2.1'))
  const made = tally(answers)
  t.same([made.none, made.RATE_LIMITED], [20, 10], 'malformed registrations are not counted')
  t.match(await attempt('more@example.org', '192.0.2.1'), { status: 429, errors: [refused] })
  t.equal(reasonOf(await attempt('more@example.org', '192.0.2.2')), 'none')
  const taken = await times(10, n => attempt('p1@example.org', `198.51.100.${n}`))
  t.equal(tally(taken).RATE_LIMITED, 7, 'one email from many addresses')
})

t.test('the first registration is never limited', async t => {
  const app = await startApp(t, { settings })
  await sql`insert into rate_limits select key, 1000000, now() + interval '1 hour' from (
    select sha256(convert_to(format('["%s","%s"]', rule, subject), 'UTF8')) as key
    from (values ('register-network', '192.0.2.1'), ('register-account', 'owner@example.org')) as r (rule, subject)
  ) as keys`.execute(app.db)
  const first = await send(app, register, { email: 'owner@example.org', password }, '192.0.2.1')
  t.match(first.data, { register: { user: { role: 'OWNER' } } })
  const second = await send(app, register, { email: 'other@example.org', password }, '192.0.2.1')
  t.equal(reasonOf(second), 'RATE_LIMITED', 'the limits are exhausted')
})

atNight(t, 'while failures cannot be counted, sign-ins are refused quickly and keys still work', async t => {
  const app = await startApp(t, { settings })
  const { token } = await app.register('owner@example.org')
  const { key } = await app.createKey(token, { name: 'script', scopes: ['read'] })
  const unlock = await lockTable(app.db, 'rate_limits')
  for (let round = 0; round < 3; round++) {
    const answers = await times(20, n => guess(app, 'owner@example.org', `192.0.2.${n}`, password))
    t.same(tally(answers), { UNAVAILABLE: 20 })
  }
  t.equal((await app.graphql('{ me { id } }', {}, key)).status, 200)
  await unlock()
  // The queries that waited for the lock finish one after the other.
  await eventually(async () =>
    assert.equal(
      reasonOf(await guess(app, 'owner@example.org', '192.0.2.99', password)),
      'none',
      'sign-ins work again afterwards',
    ),
  )
})

t.test('ended windows are removed, and the table contains no readable address or email', async t => {
  const app = await startApp(t, { settings })
  await guess(app, 'owner@example.org', '192.0.2.1')
  const { rows } = await sql<{ text: string }>`select encode(key, 'escape') as text from rate_limits`.execute(app.db)
  t.equal(rows.length, 3)
  t.notMatch(rows.map(({ text }) => text).join(), /192\.0\.2|owner/)
  await deleteEndedRateLimits(app.db)
  t.equal((await app.db.selectFrom('rate_limits').selectAll().execute()).length, 3)
  await later(app)
  await deleteEndedRateLimits(app.db)
  t.same(await app.db.selectFrom('rate_limits').selectAll().execute(), [])
})

t.test('guesses at the password of a share link are limited like those at an account', async t => {
  const app = await startApp(t, { settings })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  const { link } = await makeShare(app, token, { providerId, path: '/', password: 'correct horse' })
  const replicas = [app, await app.replica()]
  const open = (server: TestApp, secret: string, from: string) =>
    ask(server, link, '', { password: secret, headers: { 'x-forwarded-for': from } })
  const answers = await times(30, n => open(replicas[n % 2] ?? app, `wrong horse ${n}`, '192.0.2.1'))
  const reasons = Map.groupBy(answers, ({ reason }) => reason)
  t.equal(reasons.get('WRONG_SHARE_PASSWORD')?.length, 10)
  const limited = reasons.get('RATE_LIMITED') ?? []
  t.equal(limited.length, 20)
  // The queue of sign-ins, which is another limit, may refuse the first ones.
  const said = /^Too many wrong passwords for this share link from this address: try again in /
  t.ok(limited.some(({ body }) => said.test(body.errors[0].message)))
  t.equal((await open(app, 'correct horse', '192.0.2.1')).reason, 'RATE_LIMITED', 'even the right one')
  t.equal((await open(app, 'correct horse', '198.51.100.7')).status, 200, 'other networks go on')
  t.equal(reasonOf(await guess(app, 'owner@example.org', '192.0.2.1', password)), 'none', 'and so do accounts')
  await later(app)
  t.equal((await open(app, 'correct horse', '192.0.2.1')).status, 200)
})

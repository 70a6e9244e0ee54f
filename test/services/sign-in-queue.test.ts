/** Checking a password occupies a core, so sign-ins wait in a queue that is fair to each network. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { type GraphqlResult, password } from '../support/client.ts'
import { atNight, extent } from '../support/extent.ts'
import { startFlood } from '../support/flood.ts'
import { until } from '../support/until.ts'

const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
const settings = { trustedProxies: ['127.0.0.1'], rateLimit: 120_000 }

interface Sent extends GraphqlResult {
  retryAfter: string | null
}

async function send(app: TestApp, query: string, input: object, from: string, more: RequestInit = {}): Promise<Sent> {
  const response = await app.request('/graphql', {
    method: 'POST',
    body: JSON.stringify({ query, variables: { input } }),
    ...more,
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from, ...more.headers },
  })
  const { data = null, errors = [] } = JSON.parse(await response.text())
  return { status: response.status, data, errors, retryAfter: response.headers.get('retry-after') }
}

const guess = { email: 'nobody@example.org', password: 'a wrong password' }
const signIn = (app: TestApp, email: string, from: string) => send(app, login, { email, password }, from)
const reasonOf = ({ errors }: GraphqlResult) => String(errors[0]?.extensions.reason ?? 'none')

/** Waits until the queue is so full that it refuses a request. */
async function untilFull(request: () => Promise<GraphqlResult>): Promise<void> {
  await until(async () => reasonOf(await request()) === 'RATE_LIMITED' || 'the queue still has places')
}

/** Sends requests in sequence and counts the responses by reason. */
async function oneByOne(count: number, request: () => Promise<GraphqlResult>): Promise<Record<string, number>> {
  const reasons: Record<string, number> = {}
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const begin = performance.now()
    const reason = reasonOf(await request())
    times.push(Math.round(performance.now() - begin))
    reasons[reason] = (reasons[reason] ?? 0) + 1
    await sleep(20)
  }
  t.comment(`milliseconds: ${times.toSorted((a, b) => a - b).join(' ')}`)
  return reasons
}

async function people(app: TestApp, count: number): Promise<string[]> {
  await app.register('owner@example.org')
  const emails = Array.from({ length: count }, (_, n) => `person${n}@example.org`)
  for (const email of emails) await app.register(email)
  return emails
}

/** Sign-ins during each flood, which occupies the machine. */
const tries = extent({ gate: 1, nightly: 3 })

t.setTimeout(300_000)

atNight(t, 'the owner signs in while ten accounts sign in from another address, eight at a time each', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 100 } })
  const emails = await people(app, 10)
  const headers = { 'x-forwarded-for': '198.51.100.1' }
  const requests = emails.map(email => ({ query: login, input: { email, password }, headers }))
  const end = startFlood(t, { url: app.url, clients: 80, requests })
  await untilFull(() => signIn(app, 'person0@example.org', '198.51.100.1'))
  const answers = await oneByOne(tries, () => signIn(app, 'owner@example.org', '203.0.113.1'))
  const others = await end()
  t.comment(`the others: ${JSON.stringify(others)}`)
  t.same(answers, { none: tries })
  t.ok((others.none ?? 0) > 5, 'the other accounts sign in too')
})

t.test('the owner signs in while another network registers, changes passwords and guesses', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 0 } })
  const { token } = await app.register('owner@example.org')
  const taken = { email: 'owner@example.org', password: 'any other password' }
  const wrong = { currentPassword: 'a wrong password', newPassword: 'another long password' }
  const requests = [
    { query: register, input: taken, headers: { 'x-forwarded-for': '2001:db8::1' } },
    { query: change, input: wrong, headers: { 'x-forwarded-for': '2001:db8::2', authorization: `Bearer ${token}` } },
    { query: login, input: guess, headers: { 'x-forwarded-for': '2001:db8::3' } },
  ]
  const end = startFlood(t, { url: app.url, clients: 60, requests })
  await untilFull(() => send(app, login, guess, '2001:db8::4'))
  const answers = await oneByOne(tries, () => signIn(app, 'owner@example.org', '203.0.113.1'))
  await untilFull(() => send(app, login, guess, '2001:db8::4'))
  const others = await end()
  t.comment(`the others: ${JSON.stringify(others)}`)
  t.same(answers, { none: tries })
  t.ok((others.RATE_LIMITED ?? 0) > 0, 'the share of their network was full')
  t.ok((others.WRONG_EMAIL_OR_PASSWORD ?? 0) > 0, 'their passwords were checked too')
})

atNight(t, 'the owner signs in while thirty addresses fill the queue', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 0 } })
  await app.register('owner@example.org')
  const requests = Array.from({ length: 30 }, (_, n) => {
    return { query: login, input: guess, headers: { 'x-forwarded-for': `198.51.100.${n}` } }
  })
  const end = startFlood(t, { url: app.url, clients: 120, requests })
  await untilFull(() => send(app, login, guess, '198.51.100.1'))
  const answers = await oneByOne(tries, () => signIn(app, 'owner@example.org', '203.0.113.1'))
  const others = await end()
  t.comment(`the others: ${JSON.stringify(others)}`)
  t.same(answers, { none: tries })
  t.ok((others.RATE_LIMITED ?? 0) > 0, 'the queue was full')
})

t.test('a refused sign-in says when to retry', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  const answers = await Promise.all(Array.from({ length: 60 }, () => send(app, login, guess, '198.51.100.1')))
  const refused = answers.filter(answer => reasonOf(answer) === 'RATE_LIMITED')
  t.ok(refused.length > 20 && refused.length < 60, `${refused.length} of 60`)
  for (const answer of refused) {
    t.match(answer, { status: 429, retryAfter: '5' })
    t.match(answer.errors, [{ message: /from this address/, extensions: { code: 'FORBIDDEN', retryAfterMs: 5000 } }])
  }
})

atNight(t, 'a client that disconnects leaves the queue', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  for (let round = 0; round < 5; round++) {
    const gone = new AbortController()
    const { signal } = gone
    const aborted = Array.from({ length: 60 }, () =>
      send(app, login, guess, '198.51.100.1', { signal }).catch(() => null),
    )
    await sleep(100)
    gone.abort()
    await Promise.all(aborted)
  }
  await sleep(200)
  t.equal(
    reasonOf(await signIn(app, 'owner@example.org', '198.51.100.1')),
    'none',
    'the same address can sign in again',
  )
})

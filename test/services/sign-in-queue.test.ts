/** Checking a password fills a core for a while: who may, while others want to. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { type GraphqlResult, password } from '../support/client.ts'

const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
const settings = { trustedProxies: ['127.0.0.1'] }

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

const signIn = (app: TestApp, email: string, from: string) => send(app, login, { email, password }, from)
const reasonOf = ({ errors }: GraphqlResult) => String(errors[0]?.extensions.reason ?? 'none')

interface Flood {
  /** Answers by reason. */
  readonly answers: Map<string, number>
  end(): Promise<void>
}

/** Clients that begin again as soon as they are answered, until the flood ends. */
function flood(t: Test, clients: number, request: (client: number) => Promise<GraphqlResult>): Flood {
  const answers = new Map<string, number>()
  let isOver = false
  const working = Array.from({ length: clients }, async (_, client) => {
    while (!isOver) {
      const reason = reasonOf(await request(client))
      answers.set(reason, (answers.get(reason) ?? 0) + 1)
    }
  })
  const end = async () => {
    isOver = true
    await Promise.all(working)
  }
  t.teardown(end)
  return { answers, end }
}

/** Answers by reason, one request after the other. */
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

t.test(
  'while ten accounts sign in from one address, eight at a time each, the owner signs in from another',
  async t => {
    const app = await startApp(t, { settings: { ...settings, signInLimit: 100 } })
    const emails = await people(app, 10)
    const attack = flood(t, 80, n => signIn(app, emails[n % 10] ?? '', '198.51.100.1'))
    await sleep(1000)
    const answers = await oneByOne(20, () => signIn(app, 'owner@example.org', '203.0.113.1'))
    await attack.end()
    t.comment(`the others: ${JSON.stringify(Object.fromEntries(attack.answers))}`)
    t.ok((answers.none ?? 0) >= 19, JSON.stringify(answers))
    t.ok((attack.answers.get('none') ?? 0) > 20, 'and the others sign in, too')
  },
)

t.test('the same, while one address registers, changes passwords and guesses', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 0 } })
  const { token } = await app.register('owner@example.org')
  const input = { currentPassword: 'a wrong password', newPassword: 'another long password' }
  const guess = { email: 'nobody@example.org', password: 'a wrong password' }
  const requests = [
    (n: number) => send(app, register, { email: 'owner@example.org', password: `${n} is my password` }, '2001:db8::1'),
    () => send(app, change, input, '2001:db8::2', { headers: { authorization: `Bearer ${token}` } }),
    (n: number) => send(app, login, guess, `2001:db8::${n}`),
  ]
  const attack = flood(t, 120, n => (requests[n % 3] as (typeof requests)[0])(n))
  await sleep(1000)
  const answers = await oneByOne(20, () => signIn(app, 'owner@example.org', '203.0.113.1'))
  await attack.end()
  t.ok((answers.none ?? 0) >= 19, JSON.stringify(answers))
})

t.test('the same, from thirty addresses that take all places', async t => {
  const app = await startApp(t, { settings: { ...settings, signInLimit: 0 } })
  await app.register('owner@example.org')
  const guess = { email: 'nobody@example.org', password: 'a wrong password' }
  const attack = flood(t, 120, n => send(app, login, guess, `198.51.100.${n % 30}`))
  await sleep(1000)
  const answers = await oneByOne(5, () => signIn(app, 'owner@example.org', '203.0.113.1'))
  await attack.end()
  t.ok((answers.none ?? 0) === 5, JSON.stringify(answers))
})

t.test('who is refused is told when to come again', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  const guess = { email: 'nobody@example.org', password: 'a wrong password' }
  const answers = await Promise.all(Array.from({ length: 60 }, () => send(app, login, guess, '198.51.100.1')))
  const refused = answers.filter(answer => reasonOf(answer) === 'RATE_LIMITED')
  t.ok(refused.length > 20 && refused.length < 60, `${refused.length} of 60`)
  for (const answer of refused) {
    t.match(answer, { status: 429, retryAfter: '5' })
    t.match(answer.errors, [{ message: /from this address/, extensions: { code: 'FORBIDDEN', retryAfterMs: 5000 } }])
  }
})

t.test('a client that goes away leaves its place', async t => {
  const app = await startApp(t, { settings })
  await app.register('owner@example.org')
  const guess = { email: 'nobody@example.org', password: 'a wrong password' }
  for (let round = 0; round < 5; round++) {
    const gone = new AbortController()
    const { signal } = gone
    const left = Array.from({ length: 60 }, () => send(app, login, guess, '198.51.100.1', { signal }).catch(() => null))
    await sleep(100)
    gone.abort()
    await Promise.all(left)
  }
  await sleep(200)
  t.equal(reasonOf(await signIn(app, 'owner@example.org', '198.51.100.1')), 'none', 'also from the same address')
})

import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { message } from '../support/mcp.ts'
import { until } from '../support/until.ts'

const me = '/graphql?query=%7B%20me%20%7B%20id%20%7D%20%7D'
const hello = '/graphql?query=%7B__typename%7D'

/** Requests with a credential. A tenth as many are allowed without one. */
const rateLimit = 100

async function owner(app: TestApp) {
  const { token } = await app.register('owner@example.org')
  const { key } = await app.createKey(token, { name: 'script', scopes: ['read'] })
  return { token, key }
}

interface Sent {
  status: number
  retryAfter: number | null
  errors: { message: string; extensions: Record<string, unknown> }[]
}

async function get(app: TestApp, path: string, token: string | null, from = '192.0.2.1'): Promise<Sent> {
  const response = await app.request(path, { token, headers: { 'x-forwarded-for': from } })
  const { errors = [] } = JSON.parse(await response.text())
  const retryAfter = response.headers.get('retry-after')
  return { status: response.status, errors, retryAfter: retryAfter === null ? null : Number(retryAfter) }
}

const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

function statuses(answers: readonly Sent[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([key, { length }]) => [key, length]))
}

/** Repeats a request until its response has `status`, because replicas share their counts after a delay. */
async function asksUntil(status: number, ask: () => Promise<Sent>, most: number): Promise<number> {
  for (let asked = 1; asked <= most; asked++) {
    if ((await ask()).status === status) return asked
    await sleep(50)
  }
  return Number.POSITIVE_INFINITY
}

const behindProxy = { trustedProxies: ['127.0.0.1'] }

t.test('a burst with one credential passes up to its limit', async t => {
  const app = await startApp(t, { settings: { rateLimit } })
  const { token, key } = await owner(app)
  const answers = await times(150, () => get(app, me, key))
  t.same(statuses(answers), { 200: 100, 429: 50 })
  const limited = answers.find(({ status }) => status === 429)
  t.match(limited?.errors, [{ extensions: { code: 'FORBIDDEN', reason: 'RATE_LIMITED', retryable: true } }])
  const wait = Number(limited?.errors[0]?.extensions.retryAfterMs)
  t.ok(wait > 0 && wait <= 60_000, `${wait} ms`)
  t.equal(limited?.retryAfter, Math.ceil(wait / 1000))
  const download = await get(app, '/api/download/proxy?providerId=x&path=/x', key)
  t.match(download, { status: 429, errors: [{ extensions: { reason: 'RATE_LIMITED' } }] }, 'on every route')
  const { path, ...tools } = message('tools/list')
  t.equal((await app.request(path, { ...tools, token: key })).status, 429)
  const upload = await app.upload(key, 'x', '/x', 'x'.repeat(100_000))
  t.equal(upload.status, 429)
  t.equal((await get(app, me, token)).status, 200, 'another credential is not affected')
})

t.test('replicas share their counts', async t => {
  const app = await startApp(t, { settings: { rateLimit: 200 } })
  const { key } = await owner(app)
  const other = await app.replica()
  t.same(statuses(await times(250, () => get(app, me, key))), { 200: 200, 429: 50 })
  const asked = await asksUntil(429, () => get(other, me, key), 100)
  t.ok(asked < 50, `refused on the other replica after ${asked} requests`)
  await sql`update rate_limits set ends_at = now() - interval '1 second'`.execute(app.db)
  const third = await app.replica()
  t.equal((await get(third, me, key)).status, 200, 'allowed again after the window')
})

t.test('requests without a credential count by address', async t => {
  const app = await startApp(t, { settings: { ...behindProxy, rateLimit } })
  t.same(statuses(await times(15, () => get(app, hello, null))), { 200: 10, 429: 5 })
  t.match(await get(app, '/nowhere', null), { status: 429, errors: [{ message: /address: try again in \d+ seconds/ }] })
  t.equal((await get(app, hello, null, '192.0.2.2')).status, 200)
  t.same(statuses(await times(15, n => get(app, hello, null, `2001:db8:1:2:${n}::1`))), { 200: 10, 429: 5 })
  t.equal((await get(app, hello, null, '2001:db8:1:3::1')).status, 200)
  for (const path of ['/healthz', '/readyz']) {
    t.same(statuses(await times(30, () => get(app, path, null))), { 200: 30 }, path)
  }
  const scheme = await app.request(hello, { headers: { authorization: 'Basic eDp5', 'x-forwarded-for': '192.0.2.1' } })
  t.equal(scheme.status, 429)
})

t.test('forwarded addresses are ignored without a trusted proxy', async t => {
  const app = await startApp(t, { settings: { rateLimit } })
  t.same(statuses(await times(15, n => get(app, hello, null, `192.0.2.${n}`))), { 200: 10, 429: 5 })
})

t.test('the log says once that a proxy is not trusted, and what to set', async t => {
  const warnings = (app: TestApp) =>
    app
      .logged()
      .split('\n')
      .filter(line => line.includes('STOWAGE_TRUST_PROXY'))
      .map(line => JSON.parse(line))
  const direct = await startApp(t)
  await direct.request(hello)
  t.same(warnings(direct), [])
  await direct.request('/healthz', { headers: { forwarded: 'for=192.0.2.1' } })
  t.match(warnings(direct), [
    { level: 40, address: '127.0.0.1', msg: /make the proxy send X-Forwarded-For, and set .*127\.0\.0\.1/ },
  ])

  const app = await startApp(t)
  await app.request(hello, { token: 'not.good', headers: { 'x-forwarded-for': '192.0.2.77' } })
  await times(5, n => get(app, hello, null, `192.0.2.${n}`))
  t.match(warnings(app), [
    { level: 40, address: '127.0.0.1', msg: /with X-Forwarded-For.* set STOWAGE_TRUST_PROXY to .*127\.0\.0\.1/ },
  ])
  t.equal(warnings(app).length, 1, 'many requests cause one warning')
  t.notMatch(JSON.stringify(warnings(app)), '192.0.2.', 'the warning contains nothing that a client sent')

  const trusting = await startApp(t, { settings: behindProxy })
  await get(trusting, hello, null)
  t.same(warnings(trusting), [])
})

t.test('invalid credentials are limited by address', async t => {
  const app = await startApp(t, { settings: { ...behindProxy, rateLimit: 1000 } })
  const { token, key } = await owner(app)
  const { key: second } = await app.createKey(token, { name: 'new', scopes: ['read'] })
  t.equal((await get(app, me, key)).status, 200)
  const malformed = (n: number) => `no.token.${n}`
  const unknown = (n: number) => `stw_${n.toString(16).padStart(40, '0')}`
  t.same(
    statuses(await times(400, n => get(app, me, malformed(n)))),
    { 401: 300, 429: 100 },
    'the limit holds for concurrent requests',
  )
  t.match(await get(app, me, malformed(1)), { status: 429, errors: [{ extensions: { reason: 'RATE_LIMITED' } }] })
  const startedAt = performance.now()
  t.same(statuses(await times(300, n => get(app, me, unknown(n)))), { 401: 300 }, 'unknown keys wait')
  t.ok(performance.now() - startedAt > 190, 'for two rounds')
  t.equal((await get(app, me, second)).status, 200, 'a valid key waits, too')
  t.equal((await get(app, me, key)).status, 200, 'a recently used key does not')
  t.equal((await get(app, me, token)).status, 200, 'a session token is verified by its signature')
  t.equal((await get(app, me, second, '192.0.2.2')).status, 200)
  const basic = { authorization: `Basic ${Buffer.from('me:a guess').toString('base64')}` }
  const headers = { ...basic, depth: '0', 'x-forwarded-for': '192.0.2.3' }
  const guesses = await times(310, async () => {
    const { status } = await fetch(`${app.url}/dav/`, { method: 'PROPFIND', headers })
    return status
  })
  t.same([guesses.filter(status => status === 401).length, guesses.filter(status => status === 429).length], [300, 10])
  const other = await app.replica()
  const asked = await asksUntil(429, () => get(other, me, malformed(1)), 100)
  t.ok(asked < 50, `refused on another replica after ${asked} requests`)
})

atNight(t, 'many new keys can be used at once', async t => {
  const app = await startApp(t, { settings: { rateLimit: 1000 } })
  const { token } = await owner(app)
  // The owner already has one key, and a member can have 100.
  const keys = await times(99, async n => (await app.createKey(token, { name: `k${n}`, scopes: ['read'] })).key)
  const unknown = (n: number) => `stw_${n.toString(16).padStart(40, '0')}`
  await times(290, n => get(app, me, unknown(n)))
  t.same(statuses(await times(keys.length, n => get(app, me, keys[n] ?? null))), { 200: keys.length })
})

atNight(t, 'a few requests of any kind cause no write', async t => {
  const queries: string[] = []
  const app = await startApp(t, { settings: { rateLimit: 120_000 }, onQuery: ({ sql }) => queries.push(sql) })
  const { key, token } = await owner(app)
  await until(async () => {
    queries.length = 0
    await sleep(700)
    return queries.length === 0 || queries
  })
  await times(200, n => get(app, me, n % 2 ? key : token))
  await times(50, () => get(app, hello, null))
  await times(2, () => get(app, me, 'nonsense'))
  await sleep(700)
  t.same(
    queries.filter(query => /^\s*(insert|update|delete)/i.test(query) && !/api_keys set last_used_at/.test(query)),
    [],
  )
  t.same(await app.db.selectFrom('rate_limits').selectAll().execute(), [])
})

atNight(t, 'a limit of 0 means no limit', async t => {
  const app = await startApp(t, { settings: { rateLimit: 0 } })
  const { key } = await owner(app)
  t.same(statuses(await times(300, () => get(app, me, key))), { 200: 300 })
  t.same(statuses(await times(400, () => get(app, me, 'nonsense'))), { 401: 400 })
})

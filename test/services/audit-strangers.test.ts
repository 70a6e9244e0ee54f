/** The audit events of people without a credential are bounded. */
import { sql } from 'kysely'
import t from 'tap'
import type { AuditEvent } from '../../src/db/audit-events.ts'
import { AppError } from '../../src/errors.ts'
import { createAnonymousFailures } from '../../src/services/audit/failures.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'

const settings = { trustedProxies: ['127.0.0.1'], signInLimit: 100 }
const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'

interface Row {
  action: string
  result: string
  count: number
  address: string
  subject_id: string | null
  details: { email?: string; emails?: number; networks?: number; until?: string }
}

async function failuresIn(app: TestApp): Promise<Row[]> {
  await app.app.services.audit.flush()
  return (await sql<Row>`select * from audit_events where result <> 'OK' order by id`.execute(app.db)).rows
}

/** Returns the size of a table in bytes, including indexes and TOAST. */
async function sizeOf(app: TestApp, table: string): Promise<number> {
  const { rows } = await sql<{ size: string }>`select pg_total_relation_size(${table}::regclass) as size`.execute(
    app.db,
  )
  return Number(rows[0]?.size)
}

async function send(app: TestApp, query: string, input: object, from: string): Promise<string> {
  const response = await app.request('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify({ query, variables: { input } }),
  })
  const { errors = [] } = JSON.parse(await response.text())
  return errors[0]?.extensions.reason ?? 'none'
}

const wrong = 'a wrong password'
const sum = (rows: readonly Row[]) => rows.reduce((total, { count }) => total + count, 0)
const made = (n: number) => `${String(n).padStart(6, '0')}${'x'.repeat(58)}@${'y'.repeat(180)}`

t.test(
  'a flood from one address becomes a few events, which count all tries and name the existing account',
  async t => {
    const app = await startApp(t, { settings })
    const { id } = await app.register('owner@example.org')
    const before = { events: await sizeOf(app, 'audit_events'), limits: await sizeOf(app, 'rate_limits') }
    // More than 300, so that the limit of sign-ins refuses several, which one event counts.
    const tries = extent({ gate: 350, nightly: 1500 })
    const from = (n: number) => `2001:db8::${(n % 5000) + 1}`
    for (let n = 0; n < tries; n += 50) {
      const batch = Array.from({ length: 50 }, (_, m) => n + m)
      await Promise.all(
        batch.map(each => {
          if (each % 3 === 0)
            return send(app, login, { email: `${each}@${'x'.repeat(1000)}`, password: wrong }, from(each))
          if (each % 3 === 1) return send(app, register, { email: made(each), password: 'short' }, from(each))
          return send(app, login, { email: made(each), password: wrong }, from(each))
        }),
      )
      if (n === 0)
        t.equal(
          await send(app, login, { email: 'owner@example.org', password: wrong }, from(n)),
          'WRONG_EMAIL_OR_PASSWORD',
        )
    }
    const rows = await failuresIn(app)
    t.equal(sum(rows), tries + 1)
    t.ok(rows.length <= 25, `${rows.length} events`)
    t.match(
      rows.filter(row => row.subject_id === id),
      [{ action: 'LOGIN', result: 'WRONG_EMAIL_OR_PASSWORD', count: 1, details: { email: 'owner@example.org' } }],
    )
    const rest = rows.filter(({ details }) => details.emails !== undefined)
    t.ok(rest.length > 0 && rest.every(({ details, address }) => details.until && address.startsWith('2001:db8::')))
    const grown = { events: await sizeOf(app, 'audit_events'), limits: await sizeOf(app, 'rate_limits') }
    t.comment(`${rows.length} events, ${grown.events - before.events} bytes`)
    t.ok(grown.events - before.events < 200_000)
    const limits = await app.db.selectFrom('rate_limits').select('key').execute()
    t.comment(`${limits.length} counts, ${grown.limits - before.limits} bytes`)
    t.ok(limits.length < 400, `${limits.length} counts`)
  },
)

t.test('many failures from 1,000 networks store less than 1 MB and hide no failure at an existing account', async t => {
  const app = await startApp(t, { settings })
  const { audit } = app.app.services
  await app.register('owner@example.org')
  await audit.flush()
  const before = await sizeOf(app, 'audit_events')
  const fail = (n: number, network: number, more: object = {}) =>
    audit
      .recorded(
        { origin: { address: `2001:db8:${network.toString(16)}::${n.toString(16)}`, requestId: `request-${n}` } },
        'LOGIN',
        { details: { email: made(n) }, ...more },
        () => Promise.reject(new AppError(n % 2 ? 'RATE_LIMITED' : 'WRONG_EMAIL_OR_PASSWORD')),
      )
      .catch(() => {})
  const tries = extent({ gate: 8_000, nightly: 100_000 })
  for (let n = 0; n < tries; n++) {
    await fail(n, n % 1000)
    if (n % 10_000 === 0) await audit.flush()
  }
  const accounts = Array.from({ length: 60 }, (_, n) => `00000000-0000-4000-8000-0000000000${n + 10}`)
  for (const [n, id] of accounts.entries()) await fail(0, n % 3, { subject: { kind: 'MEMBER', id } })
  for (let n = 0; n < 500; n++) await fail(0, n, { subject: { kind: 'MEMBER', id: accounts[0] } })
  const rows = await failuresIn(app)
  const known = rows.filter(row => row.subject_id !== null)
  t.equal(sum(rows), tries + 560, 'each failure is counted')
  t.equal(sum(known), 560)
  t.same(new Set(known.map(row => row.subject_id)), new Set(accounts), 'each account is named')
  t.match(
    known.find(row => row.subject_id === accounts[0] && row.details.networks),
    { details: { email: made(0), networks: 100 } },
    'the event of an account counts the networks that tried it, up to a hundred',
  )
  t.ok(rows.length <= 410, `${rows.length} events`)
  const stored = (await sizeOf(app, 'audit_events')) - before
  t.comment(`${rows.length} events, ${stored} bytes`)
  t.ok(stored < 1_000_000, `${stored} bytes`)
})

t.test('the stored details of a try are bounded', async t => {
  const app = await startApp(t, { settings })
  const { audit } = app.app.services
  await app.register('owner@example.org')
  const details = { email: `x@${'é'.repeat(1000)}`, another: 'x'.repeat(1000) }
  const origin = { address: '9'.repeat(10_000), requestId: 'of-the-test' }
  await audit.recorded({ origin }, 'REGISTER', { details }, () => Promise.reject(new Error())).catch(() => {})
  const [row] = await failuresIn(app)
  t.equal(row?.address.length, 45)
  t.same(
    Object.values(row?.details ?? {}).map(value => String(value).length),
    [254, 254],
  )
})

t.test('each window starts a new event, and a growing count is written again', async t => {
  const app = await startApp(t, { settings })
  const strangers = createAnonymousFailures()
  const failure = (n: number, at: number): AuditEvent => ({
    ...({ subjectId: null, count: 1, address: '192.0.2.1', action: 'LOGIN', result: 'RATE_LIMITED' } as AuditEvent),
    id: `${n}`,
    at: new Date(at),
    details: { email: 'a@example.org' },
  })
  t.match(strangers.add(failure(1, 0)), { id: '1', count: 1, details: { email: 'a@example.org' } })
  t.equal(strangers.add(failure(2, 1000)), null)
  t.equal(strangers.add(failure(3, 599_999)), null)
  t.match(strangers.grown(), [{ id: '1', count: 3, details: { email: 'a@example.org', until: /00:09:59/ } }])
  t.same(strangers.grown(), [])
  t.equal(strangers.add(failure(4, 599_999)), null)
  t.match(strangers.add(failure(5, 600_000)), { id: '5', count: 1 })
  t.match(strangers.grown(), [{ id: '1', count: 4 }], 'the count is written after the window has ended')

  await app.register('owner@example.org')
  for (const expected of [1, 2, 3]) {
    await send(app, login, { email: 'nobody@example.org', password: wrong }, '192.0.2.1')
    const rows = await failuresIn(app)
    t.match(rows, [{ count: expected, details: { email: 'nobody@example.org' } }])
    t.equal(rows.length, 1)
  }
})

import { sql } from 'kysely'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { lockTable } from '../support/lock-table.ts'
import { until } from '../support/until.ts'

const register =
  'mutation ($input: RegisterInput!) { register(input: $input) { token expiresAt user { id email name role } } }'
const login = 'mutation ($input: LoginInput!) { login(input: $input) { token user { id } } }'
const me = '{ me { id email role } }'

atNight(t, 'if many people register first at once, one becomes the owner and the others get no role', async t => {
  const app = await startApp(t)
  const people = Array.from({ length: 6 }, (_, index) => ({ email: `p${index}@example.org`, password }))
  const answers = await Promise.all(people.map(input => app.ask(register, { input })))
  const roles = answers.map(answer => answer.register.user.role).toSorted()
  t.same(roles, ['NONE', 'NONE', 'NONE', 'NONE', 'NONE', 'OWNER'])
  const workspaces = await app.db.selectFrom('workspaces').selectAll().execute()
  t.equal(workspaces.length, 1)
})

t.test('accounts', async t => {
  const app = await startApp(t)
  const first = await app.ask(register, { input: { email: 'Ada@Example.org', password, name: ' Ada ' } })
  t.match(first.register.user, { email: 'Ada@Example.org', name: 'Ada', role: 'OWNER' })
  t.ok(new Date(first.register.expiresAt) > new Date())

  await t.test('an email belongs to one person, in any case', async t => {
    const { errors } = await app.graphql(register, { input: { email: 'ADA@example.ORG', password } })
    t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'ALREADY_EXISTS' } }])
    const { data } = await app.graphql(login, { input: { email: 'aDA@example.org', password } })
    t.equal(data.login.user.id, first.register.user.id)
  })

  await t.test('passwords have 12 to 256 characters of any kind', async t => {
    const attempt = async (secret: string, index: number) =>
      (await app.graphql(register, { input: { email: `pw${index}@example.org`, password: secret } })).errors[0]
        ?.extensions.reason
    const bad = ['', 'short', 'x'.repeat(11), '🔑'.repeat(11), 'x'.repeat(257)]
    t.same(
      await Promise.all(bad.map(attempt)),
      bad.map(() => 'INVALID_INPUT'),
    )
    const good = ['x'.repeat(12), '🔑'.repeat(12), 'é'.repeat(256), ' '.repeat(6) + '\u0000'.repeat(6)]
    t.same(
      await Promise.all(good.map((secret, index) => attempt(secret, 100 + index))),
      good.map(() => undefined),
    )
    const typed = await app.graphql(login, { input: { email: 'pw102@example.org', password: 'e\u0301'.repeat(256) } })
    t.same(typed.errors, [], 'the same characters in another normal form')
  })

  await t.test('emails are compared in compatibility form, whose length is limited too', async t => {
    const input = { email: `${'\ufdfa\ufdfb'.repeat(32)}@${'\ufdfa'.repeat(180)}`, password }
    t.match((await app.graphql(register, { input })).errors, [{ extensions: { reason: 'INVALID_INPUT' } }])
    const longest = { email: `${'ａ'.repeat(64)}@${'ｂ'.repeat(189)}`, password }
    const { data } = await app.graphql(register, { input: longest })
    t.equal(data.register.user.email, longest.email)
    t.match((await app.graphql(login, { input: { ...longest, email: longest.email.normalize('NFKC') } })).errors, [])
  })

  await t.test('malformed emails are refused', async t => {
    for (const email of ['', 'a', 'a@', '@b', 'a b@c', 'a@b\nc', 'a@b@c', `${'x'.repeat(300)}@b`]) {
      const { errors } = await app.graphql(register, { input: { email, password } })
      t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_INPUT' } }], JSON.stringify(email))
    }
  })

  await t.test('an unknown email gets the same response as a wrong password, in the same time', async t => {
    const attempt = async (email: string) => {
      const start = performance.now()
      const { status, errors } = await app.graphql(login, { input: { email, password: 'a wrong password' } })
      const comparable = errors.map(({ message, extensions }) => ({ message, ...extensions, requestId: 'any' }))
      return { took: performance.now() - start, answer: { status, errors: comparable } }
    }
    let [unknown, wrong] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    // Compare the fastest of several attempts, because other load only adds time.
    for (let round = 0; round < 7; round++) {
      const [first, second] = [await attempt('nobody@example.org'), await attempt('ada@example.org')]
      t.match(first.answer, { errors: [{ code: 'UNAUTHENTICATED', reason: 'WRONG_EMAIL_OR_PASSWORD' }] })
      t.same(first.answer, second.answer)
      unknown = Math.min(unknown, first.took)
      wrong = Math.min(wrong, second.took)
    }
    // Without a password hash the response would take about a tenth of the time.
    t.ok(unknown > wrong / 3, `${unknown} ms, ${wrong} ms`)
  })

  await t.test('logout ends only its own session, at once', async t => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => app.ask(login, { input: { email: 'ada@example.org', password } })),
    )
    t.equal((await app.ask('mutation { logout }', {}, one.login.token)).logout, true)
    const refused = await app.graphql(me, {}, one.login.token)
    t.equal(refused.status, 401)
    t.match(refused.errors, [{ extensions: { code: 'UNAUTHENTICATED', reason: 'SESSION_ENDED' } }])
    t.match(await app.ask(me, {}, two.login.token), { me: { role: 'OWNER' } })
  })

  await t.test('only the person sees and ends their sessions', async t => {
    const list = '{ sessions { id current createdAt expiresAt } }'
    const revoke = 'mutation ($id: ID!) { revokeSession(id: $id) }'
    const [mine, other] = await Promise.all(
      [1, 2].map(async () => (await app.ask(login, { input: { email: 'ada@example.org', password } })).login.token),
    )
    const stranger = await app.register('stranger@example.org')
    const { sessions } = await app.ask(list, {}, mine)
    const currents = sessions.filter((session: { current: boolean }) => session.current)
    t.equal(currents.length, 1)
    const seenByOther = (await app.ask(list, {}, other)).sessions
    const { id } = seenByOther.find((session: { current: boolean }) => session.current)
    t.not(id, currents[0].id)
    t.equal((await app.ask(list, {}, stranger.token)).sessions.length, 1, 'nobody sees the sessions of others')
    for (const [who, what] of [
      [stranger.token, id],
      [mine, 'no id'],
      [mine, currents[0].id.replace(/^./, (digit: string) => (digit === '0' ? '1' : '0'))],
    ]) {
      const { errors } = await app.graphql(revoke, { id: what }, who)
      t.match(errors, [{ extensions: { code: 'NOT_FOUND' } }], `${what}`)
    }
    t.equal((await app.graphql(me, {}, other)).status, 200)
    t.same(await app.ask(revoke, { id }, mine), { revokeSession: true })
    t.equal((await app.graphql(me, {}, other)).status, 401)
    t.match((await app.graphql(revoke, { id }, mine)).errors, [{ extensions: { code: 'NOT_FOUND' } }], 'once')
    t.equal((await app.ask(list, {}, mine)).sessions.length, sessions.length - 1)
    await app.app.services.audit.flush()
    const events = await app.db
      .selectFrom('audit_events')
      .select(['action', 'result', 'subject_kind'])
      .where('subject_id', '=', id)
      .orderBy('id')
      .execute()
    t.same(
      events.map(event => [event.action, event.result === 'OK', event.subject_kind]),
      [
        ['LOGOUT', false, 'SESSION'],
        ['LOGOUT', true, 'SESSION'],
        ['LOGOUT', false, 'SESSION'],
      ],
    )
  })

  await t.test('a changed password ends the other sessions and is the only one that works', async t => {
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
    const sessions = await Promise.all(
      [1, 2, 3].map(() => app.ask(login, { input: { email: 'ada@example.org', password } })),
    )
    const [mine, ...others] = sessions.map(session => session.login.token)
    const wrong = await app.graphql(
      change,
      { input: { currentPassword: 'not this one either', newPassword: 'a new long password' } },
      mine,
    )
    t.match(wrong.errors, [{ extensions: { reason: 'WRONG_EMAIL_OR_PASSWORD' } }])
    const input = { currentPassword: password, newPassword: 'a new long password' }
    const changed = await app.ask(change, { input }, mine)
    for (const token of others) t.equal((await app.graphql(me, {}, token)).status, 401)
    for (const token of [mine, changed.changePassword.token]) t.equal((await app.graphql(me, {}, token)).status, 200)
    t.equal((await app.graphql(login, { input: { email: 'ada@example.org', password } })).errors.length, 1)
    t.same(
      (await app.graphql(login, { input: { email: 'ada@example.org', password: 'a new long password' } })).errors,
      [],
    )
  })

  await t.test('login with the old password fails while the password is being changed', async t => {
    const email = 'changing@example.org'
    const old = (await app.ask(register, { input: { email, password } })).register.token
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
    // The uses of sessions, which the server notes from time to time, wait for the lock, too.
    const waits = async (statement: string) => {
      const { rows } = await sql`select from pg_stat_activity
        where wait_event_type = 'Lock' and query like ${statement}`.execute(app.db)
      return rows.length === 1 || rows.length
    }
    const unlock = await lockTable(app.db, 'sessions', 'share')
    const changing = app.graphql(change, { input: { currentPassword: password, newPassword: `${password}!` } }, old)
    await until(() => waits('update "sessions" set "revoked_at"%'))
    const late = app.graphql(login, { input: { email, password } })
    await until(() => waits('insert into "sessions"%'))
    await unlock()
    t.same((await changing).errors, [])
    t.match(await late, { data: null, errors: [{ extensions: { reason: 'WRONG_EMAIL_OR_PASSWORD' } }] })
  })

  await t.test('an expired session is refused', async () => {
    const { token } = first.register
    await app.db
      .updateTable('sessions')
      .set({ expires_at: new Date(Date.now() - 1000) })
      .execute()
    // The server keeps what it has read of the session for up to a second, and does not know of this change.
    await until(async () => (await app.graphql(me, {}, token)).status === 401)
  })

  await t.test('the log contains no password and no token', async t => {
    t.notOk(app.logged().includes(password))
    t.notOk(app.logged().includes(first.register.token))
  })
})

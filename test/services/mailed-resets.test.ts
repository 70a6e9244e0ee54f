/** Links for a new password that people ask for by email, through a real SMTP server. */
import { sql } from 'kysely'
import { TOTP } from 'otpauth'
import t from 'tap'
import { setUserEmail } from '../../src/db/users.ts'
import { mailServer } from '../servers/smtp.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

const request = 'mutation ($email: String!) { requestPasswordReset(email: $email) }'
const reset = 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }'
const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
const newPassword = 'a wholly new sentence'
const mail = {
  smtpUrl: 'smtp://127.0.0.1:1',
  from: 'stowage@files.example.org',
  publicUrl: 'https://files.example.org',
  sendsResets: true,
}

/** The people of a workspace, of whom only Ann and the owner may get a link. */
async function people(app: TestApp) {
  const owner = await app.register('owner@example.org')
  const join = async (email: string) => {
    const { createInvite } = await app.ask(invite, {}, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }
  const [ann, away, linked] = [
    await join('ann@example.org'),
    await join('away@example.org'),
    await join('linked@example.org'),
  ]
  await app.ask('mutation ($id: ID!) { deactivateMember(userId: $id) { id } }', { id: away.id }, owner.token)
  await sql`update users set password_hash = null where id = ${linked.id}`.execute(app.db)
  const create = 'mutation { createServiceAccount(input: { name: "Backup", role: VIEWER }) { id } }'
  const { id } = (await app.ask(create, {}, owner.token)).createServiceAccount
  const service = await app.db.selectFrom('users').select('email').where('id', '=', id).executeTakeFirstOrThrow()
  const others = ['nobody@example.org', 'away@example.org', 'linked@example.org', service.email]
  return { owner, ann, join, others }
}

const waiting = (app: TestApp) => app.db.selectFrom('reset_requests').selectAll().execute()
const reasonOf = async (app: TestApp, query: string, variables: object) =>
  (await app.graphql(query, { ...variables })).errors[0]?.extensions.reason ?? 'OK'
const redeem = (app: TestApp, token: string, given = newPassword) =>
  reasonOf(app, reset, { input: { token, newPassword: given } })
const signIn = (app: TestApp, email: string, given: string) =>
  reasonOf(app, login, { input: { email, password: given } })

t.test('a request does the same for every address, and is limited', async t => {
  const queries: string[] = []
  // No worker sends anything.
  const settings = { mail, workers: 0, signInLimit: 100, trustedProxies: ['127.0.0.1'] }
  const app = await startApp(t, { settings, onQuery: ({ sql }) => queries.push(sql) })
  const { others } = await people(app)
  await app.app.services.audit.flush()
  const ask = async (email: string, from: string) => {
    queries.length = 0
    const response = await app.request('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
      body: JSON.stringify({ query: request, variables: { email } }),
    })
    const done = queries.filter(query => /rate_limits|reset_|audit_events|\b(?:users|members|sessions)\b/.test(query))
    return { status: response.status, text: await response.text(), done }
  }
  const first = await ask('ann@example.org', '192.0.2.1')
  t.same(JSON.parse(first.text), { data: { requestPasswordReset: true } })
  t.ok(first.done.some(query => query.includes('insert into reset_requests')))
  t.notOk(first.done.some(query => /\b(users|members)\b/.test(query)))
  for (const email of others) t.same(await ask(email, '192.0.2.1'), first, email)
  t.equal((await waiting(app)).length, 1 + others.length)
  for (const email of [
    'nobody',
    'a@b, c@d',
    'ann@example.org\r\nBcc: eve@example.org',
    `${'x'.repeat(300)}@example.org`,
  ])
    t.match((await ask(email, '192.0.2.1')).text, 'INVALID_INPUT', email)

  for (const [index, email] of ['Ann@example.org', ' ann@EXAMPLE.org ', 'ann@example.org', 'ann@example.org'].entries())
    t.equal((await ask(email, `198.51.100.${index}`)).text, first.text)
  t.equal((await waiting(app)).filter(({ email }) => /^ann@/i.test(email)).length, 3, 'three emails an hour')
  const answers = []
  for (let n = 0; n < 11; n += 1) answers.push((await ask(`many-${n}@example.org`, '203.0.113.7')).text)
  t.equal(answers.filter(text => text.includes('RATE_LIMITED')).length, 1, 'ten from one address in ten minutes')
  await app.app.services.audit.flush()
  const { rows } = await sql<{ user_id: string | null; details: { email: string } }>`
    select user_id, details from audit_events where action = 'PASSWORD_RESET_REQUEST' and result = 'OK' order by id`.execute(
    app.db,
  )
  t.match(rows.slice(0, 2), [
    { user_id: null, details: { email: 'ann@example.org' } },
    { user_id: null, details: { email: 'nobody@example.org' } },
  ])
  await sql`insert into reset_requests (email, address) select 'x@example.org', '' from generate_series(1, 10000)`.execute(
    app.db,
  )
  for (const n of [1, 2]) t.equal((await ask(`full-${n}@example.org`, '203.0.113.8')).text, first.text)
  t.equal(app.logged().match(/A request of a new password was dropped/g)?.length, 1)
  t.notMatch(app.logged(), /full-1/)
  t.same(await app.ask('{ installation { sendsPasswordResets } }'), { installation: { sendsPasswordResets: true } })
  await sql`update reset_requests set created_at = now() - interval '61 minutes'`.execute(app.db)
  await app.app.services.passwordResets.sweep()
  t.same(await waiting(app), [], 'nobody waits for so long')

  for (const other of [{ mail: null }, { mail: { ...mail, sendsResets: false } }]) {
    const without = await app.replica({ settings: { ...settings, ...other } })
    t.equal((await without.ask('{ installation { sendsPasswordResets } }')).installation.sendsPasswordResets, false)
    t.equal(await reasonOf(without, request, { email: 'ann@example.org' }), 'INVALID_INPUT')
    await without.close()
  }
})

atNight(t, 'a link from an email sets a new password once, and keeps second factors', async t => {
  const server = await mailServer(t)
  const app = await startApp(t, { settings: { mail: { ...mail, smtpUrl: server.url } } })
  const { owner, ann, others } = await people(app)
  await app.ask('mutation { updateProfile(input: { language: "de" }) { id } }', {}, ann.token)
  const { totpSetup } = await app.ask('{ totpSetup { secret ticket } }', {}, ann.token)
  const totp = { ticket: totpSetup.ticket, code: new TOTP({ secret: totpSetup.secret }).generate() }
  await app.ask('mutation ($totp: AddTotpInput!) { addTotp(input: $totp) { recoveryCodes } }', { totp }, ann.token)
  const { key } = await app.createKey(ann.token, { name: 'backup', scopes: ['read'] })
  await app.db.deleteFrom('account_notices').execute()

  for (const email of [...others, 'ANN@example.org']) t.equal(await reasonOf(app, request, { email }), 'OK')
  await until(async () => {
    const left = await waiting(app)
    return (left.length === 1 && left[0]?.attempts === 1) || left
  })
  t.match(app.logged(), /An email about a new password could not be sent/)
  await server.start()
  await sql`update reset_requests set next_attempt_at = now()`.execute(app.db)
  await until(async () => (await waiting(app)).length === 0)
  const [message, ...more] = await server.received()
  t.same(more, [], 'nobody else gets an email')
  t.match(message, {
    recipient: 'ann@example.org',
    headers: { subject: 'Neues Passwort festlegen', 'content-language': 'de', 'reply-to': undefined },
    text: /ann@example\.org .*https:\/\/files\.example\.org, .*UTC.* 127\.0\.0\.1/,
  })
  const token = /^https:\/\/files\.example\.org\/reset-password#([\w-]{32})$/m.exec(message?.text ?? '')?.[1] ?? ''
  const links = await app.db.selectFrom('mailed_resets').selectAll().execute()
  t.equal(links.length, 2, 'one for each attempt')
  t.notOk(JSON.stringify(links).includes(token))

  t.equal(
    await redeem(
      app,
      token.replace(/^./, first => (first === 'A' ? 'B' : 'A')),
    ),
    'INVALID_RESET',
  )
  t.equal(await redeem(app, token, 'short'), 'INVALID_INPUT')
  const uses = await Promise.all([1, 2, 3, 4].map(n => redeem(app, token, `${newPassword} ${n}`)))
  t.same(uses.toSorted(), ['INVALID_RESET', 'INVALID_RESET', 'INVALID_RESET', 'OK'], 'exactly one use wins')
  t.equal(await redeem(app, token), 'INVALID_RESET')
  const chosen = `${newPassword} ${uses.indexOf('OK') + 1}`
  t.equal(await signIn(app, 'ann@example.org', password), 'WRONG_EMAIL_OR_PASSWORD')
  t.equal(await signIn(app, 'ann@example.org', chosen), 'SECOND_FACTOR_REQUIRED', 'the second factor stays')
  t.equal((await app.graphql('{ me { id } }', {}, ann.token)).errors[0]?.extensions.reason, 'SESSION_ENDED')
  t.equal((await app.graphql('{ me { id } }', {}, key)).errors.length, 0, 'keys stay valid')
  t.equal((await app.graphql('{ me { id } }', {}, owner.token)).errors.length, 0, 'others stay signed in')
  t.same(await app.db.selectFrom('mailed_resets').selectAll().execute(), [], 'the other link has ended, too')

  await until(async () => (await server.received()).length === 2)
  const subjects = (await server.received()).map(({ headers }) => headers.subject)
  t.ok(subjects.includes('Das Passwort Ihres Kontos wurde mit einem Link aus einer E-Mail festgelegt'))
  await app.app.services.audit.flush()
  const { rows } = await sql<{ action: string; user_id: string; address: string; details: { byEmail: boolean } }>`
    select action, user_id, address, details from audit_events
    where action in ('PASSWORD_RESET_CREATE', 'PASSWORD_RESET') and result = 'OK' order by id`.execute(app.db)
  const event = { user_id: ann.id, address: '127.0.0.1', details: { byEmail: true } }
  const actions = ['PASSWORD_RESET_CREATE', 'PASSWORD_RESET_CREATE', 'PASSWORD_RESET']
  t.match(
    rows,
    actions.map(action => ({ ...event, action })),
  )
  t.notOk(JSON.stringify(await sql`select * from audit_events`.execute(app.db)).includes(token))
  t.notOk(app.logged().includes(token), 'the log has no link')
})

t.test('a link ends with everything that it was made for', async t => {
  const app = await startApp(t, { settings: { mail, workers: 0 } })
  const { owner, join } = await people(app)
  const { passwordResets } = app.app.services
  const linkOf = async (email: string) =>
    (await passwordResets.linkFor({ email, address: '192.0.2.1' }))?.token ?? 'no link'
  const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
  const byAdministrator = async (userId: string): Promise<string> => {
    const query = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
    return (await app.ask(query, { userId }, owner.token)).createPasswordReset.token
  }
  const asOwner = (field: string, userId: string) =>
    app.ask(`mutation ($userId: ID!) { ${field}(userId: $userId) { id } }`, { userId }, owner.token)

  const bob = await join('bob@example.org')
  const links = [await linkOf('bob@example.org')]
  for (let n = 0; n < 3; n += 1) links.push(await linkOf('bob@example.org'))
  t.equal(await redeem(app, links[0] ?? ''), 'INVALID_RESET', 'a member has three links at most')
  const given = await byAdministrator(bob.id)
  const uses = await Promise.all([...links.slice(1), given].map(token => redeem(app, token)))
  t.same(uses.toSorted(), ['INVALID_RESET', 'INVALID_RESET', 'INVALID_RESET', 'OK'], 'one use ends all links')

  const late = await linkOf('bob@example.org')
  await sql`update mailed_resets set expires_at = now() - interval '1 second'`.execute(app.db)
  t.equal(await redeem(app, late), 'INVALID_RESET', 'after an hour')
  await passwordResets.sweep()
  t.same(await app.db.selectFrom('mailed_resets').selectAll().execute(), [])

  const carl = await join('carl@example.org')
  const before = await linkOf('carl@example.org')
  const passwords = { currentPassword: password, newPassword }
  await app.ask(change, { input: passwords }, carl.token)
  t.equal(await redeem(app, before, 'another sentence'), 'INVALID_RESET', 'after a change of the password')
  const elsewhere = await linkOf('carl@example.org')
  await setUserEmail(app.db as never, carl.id, 'carl.new@example.org')
  t.equal(await redeem(app, elsewhere, 'another sentence'), 'INVALID_RESET', 'after a change of the address')
  t.equal(await signIn(app, 'carl.new@example.org', newPassword), 'OK')
  t.equal(await linkOf('carl@example.org'), 'no link')

  const dora = await join('dora@example.org')
  const suspended = await linkOf('dora@example.org')
  await asOwner('deactivateMember', dora.id)
  t.equal(await redeem(app, suspended), 'INVALID_RESET', 'after a suspension')
  await asOwner('reactivateMember', dora.id)
  t.equal(await signIn(app, 'dora@example.org', password), 'OK')
  const exclusive = await linkOf('dora@example.org')
  await sql`update workspaces set password_owners = array[${owner.id}]::uuid[]`.execute(app.db)
  t.equal(await redeem(app, exclusive), 'SINGLE_SIGN_ON_REQUIRED')
  t.equal(await linkOf('dora@example.org'), 'no link', 'while others need single sign-on')
  t.not(await linkOf('owner@example.org'), 'no link')
  await sql`update workspaces set password_owners = null`.execute(app.db)
  const gone = await linkOf('dora@example.org')
  await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: dora.id }, owner.token)
  t.equal(await redeem(app, gone), 'INVALID_RESET', 'after the member was removed')
})

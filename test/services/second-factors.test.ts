import { sql } from 'kysely'
import { TOTP } from 'otpauth'
import t from 'tap'
import { resetFactors } from '../../src/start/reset-factors.ts'
import { outdateSessions, startApp, type TestApp } from '../support/app.ts'
import { type GraphqlResult, password } from '../support/client.ts'

const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const complete = 'mutation ($input: CompleteLoginInput!) { completeLogin(input: $input) { token } }'
const confirm = 'mutation ($input: ConfirmIdentityInput!) { confirmIdentity(input: $input) }'
const add = 'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }'
const makeKey = 'mutation { createApiKey(input: { name: "a key", scopes: [read] }) { key } }'
const factors = '{ secondFactors { totpAddedAt recoveryCodesLeft passkeys { name } } }'

/** Milliseconds. */
const step = 30_000

const reasonOf = ({ errors }: GraphqlResult) => errors[0]?.extensions.reason ?? 'none'

/** Returns the code of a secret, some steps from now. */
const codeOf = (secret: string, steps = 0) => new TOTP({ secret }).generate({ timestamp: Date.now() + steps * step })

/** Adds an authenticator app, and returns its secret and the recovery codes. */
async function enrol(app: TestApp, token: string) {
  const { totpSetup } = await app.ask('{ totpSetup { secret uri ticket } }', {}, token)
  const input = { ticket: totpSetup.ticket, code: codeOf(totpSetup.secret) }
  const { addTotp } = await app.ask(add, { input }, token)
  return { secret: String(totpSetup.secret), codes: addTotp.recoveryCodes as string[] }
}

/** Sends the password, and returns the challenge for the second factor. */
async function challenge(app: TestApp, email: string): Promise<{ challenge: string; methods: string[] }> {
  const { data, errors } = await app.graphql(login, { input: { email, password } })
  if (data !== null || errors[0]?.extensions.reason !== 'SECOND_FACTOR_REQUIRED') throw new Error('not asked')
  const { challenge, methods } = errors[0].extensions
  return { challenge: String(challenge), methods: methods as string[] }
}

/** Makes the time steps of codes that were used acceptable again, as if time had passed. */
const laterSteps = (app: TestApp) => sql`update totp_secrets set last_step = 0`.execute(app.db)

/** Completes a sign-in from an address. */
async function send(app: TestApp, input: object, from: string): Promise<GraphqlResult> {
  const response = await app.request('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify({ query: complete, variables: { input } }),
  })
  const { data = null, errors = [] } = JSON.parse(await response.text())
  return { status: response.status, data, errors }
}

t.test('a code or a recovery code completes a sign-in, each once', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const setup = (await app.ask('{ totpSetup { secret uri ticket } }', {}, token)).totpSetup
  t.match(setup.uri, /^otpauth:\/\/totp\/Stowage:owner%40example\.org\?/)
  const wrong = await app.graphql(add, { input: { ticket: setup.ticket, code: '000000' } }, token)
  t.equal(reasonOf(wrong), 'WRONG_CODE')
  t.match(
    (await app.graphql(login, { input: { email: 'owner@example.org', password } })).errors,
    [],
    'nothing is added',
  )

  const { secret, codes } = await enrol(app, token)
  t.equal(new Set(codes).size, 10)
  t.match(await app.ask(factors, {}, token), {
    secondFactors: { totpAddedAt: /^20/, recoveryCodesLeft: 10, passkeys: [] },
  })

  const first = await challenge(app, 'owner@example.org')
  t.same(first.methods, ['TOTP', 'RECOVERY_CODE'])
  const used = { challenge: first.challenge, code: codeOf(secret) }
  t.equal(reasonOf(await app.graphql(complete, { input: used })), 'WRONG_CODE', 'the code that the setup has used')
  const code = codeOf(secret, 1)
  const { completeLogin } = await app.ask(complete, { input: { challenge: first.challenge, code } })
  const { sessions } = await app.ask('{ sessions { current factors } }', {}, completeLogin.token)
  t.match(sessions, [
    { current: true, factors: ['PASSWORD', 'TOTP'] },
    { factors: ['PASSWORD'] },
    { factors: ['PASSWORD', 'TOTP'] },
  ])
  t.equal(reasonOf(await app.graphql(complete, { input: { challenge: first.challenge, code } })), 'INVALID_STATE')

  const second = await challenge(app, 'owner@example.org')
  const replayed = await app.graphql(complete, { input: { challenge: second.challenge, code } })
  t.equal(reasonOf(replayed), 'WRONG_CODE', 'a replayed code')
  await laterSteps(app)
  for (const steps of [-3, 3]) {
    const input = { challenge: second.challenge, code: codeOf(secret, steps) }
    t.equal(reasonOf(await app.graphql(complete, { input })), 'WRONG_CODE', `the code of ${steps} steps from now`)
  }
  const recoveryCode = ` ${codes[0]?.toUpperCase().replaceAll('-', ' ')} `
  t.equal(reasonOf(await app.graphql(complete, { input: { challenge: second.challenge, recoveryCode } })), 'none')
  const third = await challenge(app, 'owner@example.org')
  const again = await app.graphql(complete, { input: { challenge: third.challenge, recoveryCode } })
  t.equal(reasonOf(again), 'WRONG_CODE', 'a used recovery code')
  t.match(await app.ask(factors, {}, token), { secondFactors: { recoveryCodesLeft: 9 } })

  const events = '{ auditEvents(first: 50, filter: { action: LOGIN }) { nodes { result details } } }'
  await app.app.services.audit.flush()
  const { auditEvents } = await app.ask(events, {}, token)
  const results = auditEvents.nodes.map(({ result }: { result: string }) => result)
  for (const result of ['OK', 'SECOND_FACTOR_REQUIRED', 'WRONG_CODE']) t.ok(results.includes(result), result)
  t.match(
    auditEvents.nodes.filter(({ result }: { result: string }) => result === 'OK'),
    [{ details: { factors: ['PASSWORD', 'RECOVERY_CODE'] } }, { details: { factors: ['PASSWORD', 'TOTP'] } }, {}],
  )
})

t.test('a challenge ends with its tries, its password and its time', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const { codes } = await enrol(app, token)
  const [recoveryCode] = codes
  const tries = await challenge(app, 'owner@example.org')
  const guess = () => app.graphql(complete, { input: { challenge: tries.challenge, code: '123456' } })
  const reasons = [await guess(), await guess(), await guess(), await guess(), await guess()].map(reasonOf)
  t.same(
    reasons,
    Array.from({ length: 5 }, () => 'WRONG_CODE'),
  )
  t.equal(
    reasonOf(await app.graphql(complete, { input: { challenge: tries.challenge, recoveryCode } })),
    'INVALID_STATE',
  )

  const late = await challenge(app, 'owner@example.org')
  await sql`update login_challenges set expires_at = now() - interval '1 second'`.execute(app.db)
  t.equal(
    reasonOf(await app.graphql(complete, { input: { challenge: late.challenge, recoveryCode } })),
    'INVALID_STATE',
  )

  const before = await challenge(app, 'owner@example.org')
  const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
  const input = { currentPassword: password, newPassword: `${password} 2` }
  await outdateSessions(app)
  t.equal(reasonOf(await app.graphql(change, { input }, token)), 'CONFIRMATION_REQUIRED')
  await app.ask(confirm, { input: { recoveryCode } }, token)
  await app.ask(change, { input }, token)
  const outdated = await app.graphql(complete, { input: { challenge: before.challenge, recoveryCode: codes[1] } })
  t.equal(reasonOf(outdated), 'INVALID_STATE', 'the password was changed meanwhile')
})

t.test('guesses count against the member, over all challenges and addresses', async t => {
  const app = await startApp(t, { settings: { signInLimit: 100, trustedProxies: ['127.0.0.1'] } })
  const { token } = await app.register('owner@example.org')
  const { codes } = await enrol(app, token)
  const other = await app.register('other@example.org')
  const others = await enrol(app, other.token)
  const answers: string[] = []
  for (let n = 0; n < 11; n++) {
    const { challenge: token } = await challenge(app, 'owner@example.org')
    answers.push(reasonOf(await send(app, { challenge: token, code: '123456' }, `198.51.100.${n}`)))
  }
  t.same(answers, [...Array.from({ length: 10 }, () => 'WRONG_CODE'), 'RATE_LIMITED'])
  const { challenge: last } = await challenge(app, 'owner@example.org')
  const right = await send(app, { challenge: last, recoveryCode: codes[0] }, '203.0.113.2')
  t.equal(reasonOf(right), 'RATE_LIMITED', 'the right code, from a new address')
  const inSession = await app.graphql(confirm, { input: { recoveryCode: codes[0] } }, token)
  t.equal(reasonOf(inSession), 'RATE_LIMITED', 'a confirmation counts as the same')
  const { challenge: theirs } = await challenge(app, 'other@example.org')
  t.equal(reasonOf(await send(app, { challenge: theirs, recoveryCode: others.codes[0] }, '203.0.113.3')), 'none')
})

t.test('sensitive changes in a session need a recent confirmation, on all replicas', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const { token } = await app.register('owner@example.org')
  await app.ask(makeKey, {}, token)
  const { key } = await app.createKey(token, { name: 'admin', scopes: ['admin'] })
  await outdateSessions(app)
  for (const each of [app, replica]) {
    const { errors } = await each.graphql(makeKey, {}, token)
    t.match(errors, [{ extensions: { code: 'FORBIDDEN', reason: 'CONFIRMATION_REQUIRED' } }])
  }
  t.equal(reasonOf(await app.graphql(makeKey, {}, key)), 'none', 'keys belong to programs')
  const needs = '{ confirmation { confirmedUntil methods passkeyOptions } }'
  const stale = { confirmedUntil: null, methods: ['PASSWORD'], passkeyOptions: null }
  t.same((await app.ask(needs, {}, token)).confirmation, stale)
  const wrong = await app.graphql(confirm, { input: { password: 'a wrong password' } }, token)
  t.equal(reasonOf(wrong), 'WRONG_EMAIL_OR_PASSWORD')
  t.equal(reasonOf(await app.graphql(makeKey, {}, token)), 'CONFIRMATION_REQUIRED')
  await app.ask(confirm, { input: { password } }, token)
  t.equal(reasonOf(await replica.graphql(makeKey, {}, token)), 'none', 'at once')

  const { codes } = await enrol(app, token)
  await outdateSessions(app)
  const byPassword = await app.graphql(confirm, { input: { password } }, token)
  t.equal(reasonOf(byPassword), 'SECOND_FACTOR_REQUIRED', 'the password alone could not sign in')
  const both = await app.graphql(confirm, { input: { code: '123456', recoveryCode: codes[0] } }, token)
  t.equal(reasonOf(both), 'INVALID_INPUT')
  t.equal(reasonOf(await app.graphql(confirm, { input: { recoveryCode: codes[0] } }, key)), 'SESSION_REQUIRED')
  await app.ask(confirm, { input: { recoveryCode: codes[0] } }, token)
  t.equal(reasonOf(await app.graphql('mutation { removeTotp }', {}, token)), 'none')
  t.match(await app.ask(factors, {}, token), { secondFactors: { totpAddedAt: null, recoveryCodesLeft: 0 } })
  t.equal(reasonOf(await app.graphql(login, { input: { email: 'owner@example.org', password } })), 'none')
})

t.test('a policy restricts sessions without a second factor at once, until they have one', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const owner = await app.register('owner@example.org')
  const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
  const { createInvite } = await app.ask(invite, {}, owner.token)
  const editor = await app.register('editor@example.org', createInvite)
  const { key } = await app.createKey(editor.token, { name: 'a program', scopes: ['read'] })
  const list = '{ providers { name } }'
  t.equal(reasonOf(await replica.graphql(list, {}, editor.token)), 'none')
  const policy = 'mutation { updateWorkspace(input: { secondFactorRoles: [EDITOR] }) { secondFactorRoles } }'
  t.same((await app.ask(policy, {}, owner.token)).updateWorkspace.secondFactorRoles, ['EDITOR'])

  t.equal(reasonOf(await replica.graphql(list, {}, editor.token)), 'SECOND_FACTOR_REQUIRED')
  const refused = [
    '{ sessions { id } }',
    makeKey,
    '{ apiKeys { nodes { id } } }',
    'mutation { updateProfile(input: { name: null }) { id } }',
  ]
  for (const each of refused) {
    t.equal(reasonOf(await app.graphql(each, {}, editor.token)), 'SECOND_FACTOR_REQUIRED', each)
  }
  t.same(await app.ask('{ viewer { needsSecondFactor scopes } }', {}, editor.token), {
    viewer: { needsSecondFactor: true, scopes: [] },
  })
  const cookie = await app.request('/console/session', { method: 'POST', token: editor.token })
  t.equal(cookie.status, 204, 'the console can use the session')
  const leaving = await app.ask(login, { input: { email: 'editor@example.org', password } })
  t.equal(reasonOf(await app.graphql('mutation { logout }', {}, leaving.login.token)), 'none')
  t.equal(reasonOf(await app.graphql(list, {}, key)), 'none', 'keys need none')
  t.equal(reasonOf(await app.graphql(list, {}, owner.token)), 'none', 'other roles need none')

  const { secret } = await enrol(app, editor.token)
  t.equal(reasonOf(await replica.graphql(list, {}, editor.token)), 'none', 'at once')
  const kept = await app.graphql('mutation { removeTotp }', {}, editor.token)
  t.match(kept.errors, [{ message: /requires a second factor/, extensions: { reason: 'INVALID_INPUT' } }])

  const remove = 'mutation ($userId: ID!) { removeSecondFactors(userId: $userId) { email } }'
  t.equal(reasonOf(await app.graphql(remove, { userId: owner.id }, editor.token)), 'SCOPE_REQUIRED')
  t.equal(reasonOf(await app.graphql(remove, { userId: owner.id }, owner.token)), 'OWN_MEMBERSHIP')
  await app.ask(remove, { userId: editor.id }, owner.token)
  t.equal(reasonOf(await replica.graphql('{ me { id } }', {}, editor.token)), 'SESSION_ENDED', 'at once')
  const signedIn = await app.ask(login, { input: { email: 'editor@example.org', password } })
  t.equal(reasonOf(await app.graphql(list, {}, signedIn.login.token)), 'SECOND_FACTOR_REQUIRED')
  t.not((await enrol(app, signedIn.login.token)).secret, secret)
  const events =
    '{ auditEvents(first: 5, filter: { action: FACTOR_REMOVE, result: "OK" }) { nodes { userEmail details } } }'
  t.match(await app.ask(events, {}, owner.token), {
    auditEvents: { nodes: [{ userEmail: 'owner@example.org', details: { email: 'editor@example.org' } }] },
  })
})

t.test('the operator lets somebody in who has lost all factors', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  await enrol(app, token)
  const settings = { ...app.settings, databaseUrl: app.connectionString }
  await t.rejects(resetFactors(settings, 'nobody@example.org'), /Nobody has the email/)
  t.equal(await resetFactors(settings, 'Owner@Example.org'), 'owner@example.org')
  t.equal(reasonOf(await app.graphql('{ me { id } }', {}, token)), 'SESSION_ENDED', 'at once')
  const signedIn = await app.ask(login, { input: { email: 'owner@example.org', password } })
  const events =
    '{ auditEvents(first: 1, filter: { action: FACTOR_REMOVE }) { nodes { userEmail credentialId details } } }'
  t.match(await app.ask(events, {}, signedIn.login.token), {
    auditEvents: { nodes: [{ userEmail: 'owner@example.org', credentialId: null, details: { byOperator: true } }] },
  })
})

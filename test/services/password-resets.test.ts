/** Links with which members set a new password. */
import { sql } from 'kysely'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'

const app = await startApp(t)
const owner = await app.register('owner@example.org')
const newPassword = 'a wholly new sentence'

const createInvite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
async function join(email: string, role: string) {
  const { createInvite: made } = await app.ask(createInvite, { input: { role } }, owner.token)
  return app.register(email, { invite: made.invite })
}
const createReset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token expiresAt } }'
const tokenFor = async (userId: string, by = owner.token) =>
  (await app.ask(createReset, { userId }, by)).createPasswordReset.token
const redeem = async (token: string, given = newPassword) => {
  const query = 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }'
  const { errors } = await app.graphql(query, { input: { token, newPassword: given } })
  return errors[0]?.extensions.reason ?? 'OK'
}
const signIn = async (email: string, given: string) => {
  const query = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const { errors } = await app.graphql(query, { input: { email, password: given } })
  return errors[0]?.extensions.reason ?? 'OK'
}
const refusal = async (userId: string, by: string) =>
  (await app.graphql(createReset, { userId }, by)).errors[0]?.extensions.reason

t.test('a link sets a new password once, and ends all sessions', async t => {
  const member = await join('member@example.org', 'EDITOR')
  const { key } = await app.createKey(member.token, { name: 'backup', scopes: ['read'] })
  const replaced = await tokenFor(member.id)
  const token = await tokenFor(member.id)
  t.equal(await redeem(replaced), 'INVALID_RESET', 'a new link ends the one before')
  t.equal(await redeem(token, 'short'), 'INVALID_INPUT')
  t.same(await Promise.all([redeem(token), redeem(token, 'another long sentence')]).then(all => all.sort()), [
    'INVALID_RESET',
    'OK',
  ])
  t.equal((await app.graphql('{ me { id } }', {}, member.token)).errors[0]?.extensions.reason, 'SESSION_ENDED')
  t.equal((await app.graphql('{ me { id } }', {}, key)).errors.length, 0, 'keys stay valid')
  t.equal(await signIn('member@example.org', password), 'WRONG_EMAIL_OR_PASSWORD')
  const signedIn = [
    await signIn('member@example.org', newPassword),
    await signIn('member@example.org', 'another long sentence'),
  ]
  t.same(signedIn.sort(), ['OK', 'WRONG_EMAIL_OR_PASSWORD'])
  t.equal(await redeem('unknown'), 'INVALID_RESET')
  await app.app.services.audit.flush()
  const { rows } = await sql<{ action: string; result: string; user_id: string | null; subject_id: string | null }>`
    select action, result, user_id, subject_id from audit_events
    where action like 'PASSWORD_RESET%' and result = 'OK' order by id`.execute(app.db)
  t.same(
    rows.map(row => [row.action, row.user_id, row.subject_id]),
    [
      ['PASSWORD_RESET_CREATE', owner.id, member.id],
      ['PASSWORD_RESET_CREATE', owner.id, member.id],
      ['PASSWORD_RESET', member.id, member.id],
    ],
  )
  t.notOk(
    JSON.stringify(await sql`select * from audit_events`.execute(app.db)).includes(token),
    'no event has the token',
  )
  t.notOk(app.logged().includes(token))
})

t.test('administrators make links only for members who have at most their own access', async t => {
  const admin = await join('admin@example.org', 'ADMIN')
  const editor = await join('editor@example.org', 'EDITOR')
  t.equal(await refusal(owner.id, admin.token), 'EXCEEDS_OWN_REACH')
  t.equal(await refusal(admin.id, editor.token), 'SCOPE_REQUIRED')
  t.equal(await refusal(admin.id, admin.token), 'OWN_MEMBERSHIP')
  t.equal(await refusal('00000000-0000-4000-8000-000000000000', admin.token), 'NOT_FOUND')
  const { key } = await app.createKey(admin.token, { name: 'all', scopes: ['admin'] })
  t.equal(await refusal(editor.id, key), 'SESSION_REQUIRED')

  const token = await tokenFor(editor.id, admin.token)
  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  await app.ask(update, { input: { userId: admin.id, role: 'VIEWER' } }, owner.token)
  t.equal(await redeem(token), 'INVALID_RESET', 'a link ends with the rights of its maker')
  const late = await tokenFor(editor.id)
  await sql`update password_resets set expires_at = now() - interval '1 second'`.execute(app.db)
  t.equal(await redeem(late), 'INVALID_RESET', 'a link expires')
  const gone = await tokenFor(editor.id)
  await app.ask('mutation ($userId: ID!) { removeMember(userId: $userId) }', { userId: editor.id }, owner.token)
  t.equal(await redeem(gone), 'INVALID_RESET')
})

t.test('people change their own name, and see where they are signed in', async t => {
  const update = 'mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { name } }'
  const set = async (name: string | null) =>
    (await app.ask(update, { input: { name } }, owner.token)).updateProfile.name
  t.equal(await set('  Olga  '), 'Olga')
  t.equal((await app.ask('{ me { name } }', {}, owner.token)).me.name, 'Olga')
  t.equal(await set(''), null)
  const { errors } = await app.graphql(update, { input: { name: 'x'.repeat(201) } }, owner.token)
  t.equal(errors[0]?.extensions.reason, 'INVALID_INPUT')
  const { key } = await app.createKey(owner.token, { name: 'all', scopes: ['admin'] })
  t.equal((await app.graphql(update, { input: { name: 'x' } }, key)).errors[0]?.extensions.reason, 'SESSION_REQUIRED')

  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const userAgent = `Mozilla/5.0 (X11; Linux x86_64) stw_${'0'.repeat(40)} ${'x'.repeat(2000)}`
  const response = await app.request('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({ query: login, variables: { input: { email: 'owner@example.org', password } } }),
  })
  const { token } = (await response.json()).data.login
  const { sessions } = await app.ask('{ sessions { address userAgent current } }', {}, token)
  t.match(sessions[0], { address: '127.0.0.1', userAgent: /^Mozilla\/5\.0 \(X11; Linux x86_64\)/, current: true })
  t.ok(sessions[0].userAgent.length <= 255)
  t.notMatch(sessions[0].userAgent, /stw_0{40}/, 'a credential in the wrong header is not stored')
})

/** "Only single sign-on": passwords are for some owners, and nobody is locked out for good. */
import t from 'tap'
import { startIssuer, TestBrowser } from '../servers/oidc.ts'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'

const update = 'mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { passwordOwners } }'
const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
const createReset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
const reset = 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }'
const role = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
const remove = 'mutation ($userId: ID!) { removeMember(userId: $userId) }'
const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
const me = '{ me { id } }'

t.test('only the chosen owners use passwords, and others keep what an issuer gives', async t => {
  const issuer = await startIssuer(t)
  const { url, clientId, clientSecret } = issuer
  const app = await startApp(t, { settings: { oidc: { issuer: url, clientId, clientSecret, groupsClaim: null } } })
  issuer.register([`${app.url}/auth/oidc/callback`])
  const owner = await app.register('owner@example.org')
  const invited = async (name: string, role: string) => {
    const { createInvite } = await app.ask(invite, { input: { role } }, owner.token)
    return app.register(`${name}@example.org`, { invite: createInvite.invite })
  }
  const [other, admin, ann] = [
    await invited('other', 'OWNER'),
    await invited('admin', 'ADMIN'),
    await invited('ann', 'EDITOR'),
  ]
  const reason = async (query: string, variables: object, token = owner.token) =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK'
  const setTo = (passwordOwners: string[] | null, token = owner.token) =>
    reason(update, { input: { singleSignOnOnly: passwordOwners !== null, passwordOwners } }, token)
  const signIn = (name: string) => reason(login, { input: { email: `${name}@example.org`, password } }, '')

  issuer.person = { id: 'ann', claims: { email: 'ann@id.example.org' } }
  const { identityLinkUrl } = await app.ask('{ identityLinkUrl }', {}, ann.token)
  const linked = await new TestBrowser().open(identityLinkUrl, ({ pathname }) => pathname === '/settings/profile')
  await app.ask(
    'mutation ($t: String!) { linkIdentity(ticket: $t) { id } }',
    { t: linked.url.hash.slice(6) },
    ann.token,
  )
  const browser = new TestBrowser()
  await browser.open(`${app.url}/auth/oidc/start`, ({ pathname }) => pathname === '/files')
  const session = browser.cookie(app.url, 'stowage_session') ?? ''
  const earlier = (await app.ask(createReset, { userId: ann.id }, owner.token)).createPasswordReset.token
  const { key } = await app.createKey(ann.token, { name: 'key', scopes: ['read'] })

  t.equal(await setTo([owner.id], admin.token), 'EXCEEDS_OWN_REACH', 'only owners decide')
  const owned = await app.createKey(owner.token, { name: 'admin key', scopes: ['admin'] })
  t.equal(await setTo([owner.id], owned.key), 'SESSION_REQUIRED', 'the policy outlives the key')
  for (const nobody of [
    [],
    [ann.id],
    [owner.id, ann.id],
    [admin.id],
    ['x'],
    Array.from({ length: 21 }, () => owner.id),
  ]) {
    t.match(await setTo(nobody), /LAST_OWNER|INVALID_INPUT/, JSON.stringify(nobody).slice(0, 60))
  }
  t.equal(await signIn('ann'), 'OK', 'nothing has changed')
  t.equal(await setTo([owner.id]), 'OK')
  t.same((await app.ask('{ workspace { passwordOwners } }', {}, owner.token)).workspace, { passwordOwners: [owner.id] })
  t.same((await app.ask('{ workspace { passwordOwners } }', {}, session)).workspace, { passwordOwners: null })
  t.same((await app.ask('{ installation { singleSignOnOnly } }')).installation, { singleSignOnOnly: true })
  for (const { token } of [other, admin, ann]) t.equal((await app.graphql(me, {}, token)).status, 401, 'a session ends')
  for (const token of [owner.token, session, key]) t.equal((await app.graphql(me, {}, token)).status, 200)

  for (const name of ['other', 'admin', 'ann']) t.equal(await signIn(name), 'SINGLE_SIGN_ON_REQUIRED', name)
  t.equal(
    await reason(login, { input: { email: 'ann@example.org', password: 'wrong' } }, ''),
    'WRONG_EMAIL_OR_PASSWORD',
  )
  t.equal(await signIn('owner'), 'OK')
  const passwords = { currentPassword: password, newPassword: `${password} 2` }
  t.equal(await reason(change, { input: passwords }, session), 'SINGLE_SIGN_ON_REQUIRED')
  const confirm = 'mutation ($input: ConfirmIdentityInput!) { confirmIdentity(input: $input) }'
  t.equal(await reason(confirm, { input: { password } }, session), 'SINGLE_SIGN_ON_REQUIRED')
  t.same((await app.ask('{ confirmation { methods } }', {}, session)).confirmation, { methods: ['ISSUER'] })
  t.equal(await reason(createReset, { userId: ann.id }), 'SINGLE_SIGN_ON_REQUIRED')
  t.equal(await reason(reset, { input: { token: earlier, newPassword: password } }, ''), 'SINGLE_SIGN_ON_REQUIRED')
  const { createInvite } = await app.ask(invite, { input: { role: 'VIEWER' } }, owner.token)
  const newcomer = { email: 'new@example.org', password, invite: createInvite.invite }
  t.equal(await reason(register, { input: newcomer }, ''), 'SINGLE_SIGN_ON_REQUIRED')
  issuer.person = { id: 'new', claims: { email: 'new@example.org' } }
  const start = `${app.url}/auth/oidc/start?invite=${createInvite.invite}`
  const joined = await new TestBrowser().open(start, ({ pathname }) => pathname === '/files')
  t.equal(joined.response, null, 'the invite is not used up')
  const listed = 'query ($is: Boolean) { users(first: 9, owners: $is, singleSignOn: false) { nodes { email } } }'
  const emails = async (is: boolean | null) =>
    (await app.ask(listed, { is }, owner.token)).users.nodes.map((node: { email: string }) => node.email)
  t.same(await emails(null), ['owner@example.org', 'other@example.org', 'admin@example.org'])
  t.same(await emails(false), ['admin@example.org'])
  issuer.person = { id: 'stranger', claims: { email: 'admin@example.org' } }
  const unknown = await new TestBrowser().open(`${app.url}/auth/oidc/start`, ({ pathname }) => pathname === '/files')
  t.match(await unknown.response?.text(), /No account is linked.*ask an owner to let everybody use them/s)

  t.comment('An owner who can sign in stays')
  t.equal(await setTo([owner.id, other.id]), 'OK')
  const { token: second } = (await app.ask(login, { input: { email: 'other@example.org', password } })).login
  t.equal(await reason(role, { input: { userId: owner.id, role: 'ADMIN' } }, second), 'OK')
  t.equal(await signIn('owner'), 'SINGLE_SIGN_ON_REQUIRED', 'an administrator is no owner')
  t.equal((await app.graphql(me, {}, owner.token)).status, 401, 'and the session has ended')
  t.equal(await reason(role, { input: { userId: owner.id, role: 'OWNER' } }, second), 'OK')
  const again = (await app.ask(login, { input: { email: 'owner@example.org', password } })).login.token
  t.equal(await setTo([owner.id], second), 'OK')
  const owners = await app.db.selectFrom('sessions').selectAll().where('user_id', '=', other.id).execute()
  t.ok(owners.every(({ revoked_at }) => revoked_at !== null))
  t.equal(await reason(role, { input: { userId: other.id, role: 'VIEWER' } }, again), 'OK')
  t.equal(await setTo(null, again), 'OK')
  t.equal(await signIn('ann'), 'OK')
  t.equal(await reason(remove, { userId: other.id }, again), 'OK')
})

t.test('passwords stay unless there is an issuer', async t => {
  const app = await startApp(t)
  const { token, id } = await app.register('owner@example.org')
  const input = { singleSignOnOnly: true, passwordOwners: [id] }
  for (const singleSignOnOnly of [true, false]) {
    const { errors } = await app.graphql(update, { input: { ...input, singleSignOnOnly } }, token)
    t.equal(errors[0]?.extensions.reason, 'INVALID_INPUT')
  }

  t.comment('The last issuer ends while somebody relies on it')
  const replica = await app.replica()
  const issuer = { name: 'Work', issuer: 'https://id.example.org', clientId: 'stowage', clientSecret: 'a secret' }
  const create = 'mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }'
  const { createIssuer } = await app.ask(create, { input: issuer }, token)
  const removal = 'mutation ($id: ID!) { deleteIssuer(id: $id) }'
  const both = await Promise.all([
    app.graphql(update, { input }, token),
    replica.graphql(removal, { id: createIssuer.id }, token),
  ])
  const reasons = both.map(({ errors }) => errors?.[0]?.extensions.reason ?? 'OK')
  t.match(reasons.toSorted(), [/INVALID_INPUT|LAST_OWNER/, 'OK'], reasons.join(' and '))
})

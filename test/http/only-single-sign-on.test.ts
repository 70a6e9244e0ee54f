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
  const confirmation = '{ confirmation { methods issuers } }'
  t.same((await app.ask(confirmation, {}, session)).confirmation, { methods: ['ISSUER'], issuers: ['settings'] })
  t.same((await app.ask(confirmation, {}, owner.token)).confirmation, { methods: ['PASSWORD'], issuers: [] })
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
  t.match(await unknown.response?.text(), /No account is linked.*ask an administrator for an invite/s)

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

t.test('an invite links an account at an issuer with an existing account, whatever its address', async t => {
  const issuer = await startIssuer(t)
  const { url, clientId, clientSecret } = issuer
  const oidc = { issuer: url, clientId, clientSecret, groupsClaim: null }
  const mail = {
    smtpUrl: 'smtp://127.0.0.1:1',
    from: 'stowage@example.org',
    publicUrl: 'https://files.example.org',
    sendsResets: true,
  }
  const app = await startApp(t, { settings: { oidc, mail } })
  issuer.register([`${app.url}/auth/oidc/callback`])
  const owner = await app.register('owner@example.org')
  const invited = async (name: string, role: string) => {
    const { createInvite } = await app.ask(invite, { input: { role } }, owner.token)
    return app.register(`${name}@example.org`, { invite: createInvite.invite })
  }
  const [admin, ann] = [await invited('admin', 'ADMIN'), await invited('ann', 'EDITOR')]
  const reason = async (query: string, variables: object, token = '') =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK'
  const create = 'mutation ($userId: ID!) { createLinkInvite(userId: $userId) { invite } }'
  const show = 'query ($invite: String!) { linkInvite(invite: $invite) { email name } }'
  const begin = 'query ($invite: String!) { invitedLinkUrl(invite: $invite) }'
  const accept =
    'mutation ($invite: String!, $ticket: String!) { linkInvitedIdentity(invite: $invite, ticket: $ticket) }'
  const inviteFor = async (userId: string, token = owner.token): Promise<string> =>
    (await app.ask(create, { userId }, token)).createLinkInvite.invite
  const ticketFor = async (code: string) => {
    const { invitedLinkUrl } = await app.ask(begin, { invite: code })
    const { url } = await new TestBrowser().open(invitedLinkUrl, ({ pathname }) => pathname === '/link-account')
    return url.hash.replace('#link=', '')
  }

  const { key } = await app.createKey(owner.token, { name: 'key', scopes: ['admin'] })
  const service = 'mutation { createServiceAccount(input: { name: "ci", role: VIEWER }) { id } }'
  const { id: serviceId } = (await app.ask(service, {}, owner.token)).createServiceAccount
  const refusals: [string, string, string][] = [
    [ann.id, key, 'SESSION_REQUIRED'],
    [ann.id, ann.token, 'SCOPE_REQUIRED'],
    [owner.id, admin.token, 'EXCEEDS_OWN_REACH'],
    [owner.id, owner.token, 'OWN_MEMBERSHIP'],
    [serviceId, owner.token, 'INVALID_INPUT'],
    ['x', owner.token, 'NOT_FOUND'],
  ]
  for (const [userId, token, expected] of refusals) t.equal(await reason(create, { userId }, token), expected)

  const input = { singleSignOnOnly: true, passwordOwners: [owner.id] }
  t.equal(await reason(update, { input }, owner.token), 'OK')
  t.equal(await reason(login, { input: { email: 'ann@example.org', password } }), 'SINGLE_SIGN_ON_REQUIRED')
  // The address belongs to somebody else here, and finds nobody.
  issuer.person = { id: 'ann', claims: { email: 'admin@example.org', email_verified: true } }
  const earlier = await inviteFor(ann.id)
  const code = await inviteFor(ann.id)
  t.equal(await reason(show, { invite: earlier }), 'INVALID_INVITE', 'a member has one invite')
  t.same(await app.ask(show, { invite: code }), { linkInvite: { email: 'ann@example.org', name: null } })
  const start = `${app.url}/auth/oidc/start`
  const isFiles = ({ pathname }: URL) => pathname === '/files'
  const direct = await new TestBrowser().open(`${start}?invite=${code}`, isFiles)
  t.ok(direct.response && direct.response.status >= 400, 'nothing is linked without a confirmation')
  const ticket = await ticketFor(code)
  const other = await inviteFor(admin.id)
  t.equal(await reason(accept, { invite: other, ticket }), 'INVALID_STATE', 'the invite of somebody else')
  t.equal(await reason(accept, { invite: code, ticket: `${ticket}x` }), 'INVALID_STATE')
  const linkOwn = 'mutation ($ticket: String!) { linkIdentity(ticket: $ticket) { id } }'
  t.equal(await reason(linkOwn, { ticket }, owner.token), 'INVALID_STATE', 'a session that has not begun it')
  const both = await Promise.all([1, 2].map(() => reason(accept, { invite: code, ticket })))
  t.same(both.toSorted(), ['INVALID_INVITE', 'OK'], 'it works once')
  const browser = new TestBrowser()
  await browser.open(start, isFiles)
  const session = browser.cookie(app.url, 'stowage_session') ?? ''
  t.same((await app.ask(me, {}, session)).me, { id: ann.id })
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: IDENTITY_LINK, result: "OK" }) { nodes { userId details } } }'
  const { nodes } = (await app.ask(events, {}, owner.token)).auditEvents
  t.match(nodes, [{ userId: ann.id, details: { byInvite: true, issuer: url, subject: 'ann' } }])

  const notices = await app.db.selectFrom('account_notices').selectAll().execute()
  t.match(notices, [{ user_id: ann.id, kind: 'IDENTITY_LINKED', name: `admin@example.org (${new URL(url).host})` }])

  const taken = await ticketFor(other)
  t.equal(await reason(accept, { invite: other, ticket: taken }), 'ALREADY_EXISTS', 'the identity has an account')
  issuer.person = { id: 'admin' }
  const fresh = await ticketFor(other)
  const deactivate = 'mutation ($userId: ID!) { deactivateMember(userId: $userId) { id } }'
  await app.ask(deactivate, { userId: admin.id }, owner.token)
  t.equal(await reason(accept, { invite: other, ticket: fresh }), 'ACCOUNT_DEACTIVATED')
  t.equal(await reason(begin, { invite: other }), 'ACCOUNT_DEACTIVATED')
  await app.ask(
    'mutation ($userId: ID!) { reactivateMember(userId: $userId) { id } }',
    { userId: admin.id },
    owner.token,
  )
  await app.db
    .updateTable('link_invites')
    .set({ expires_at: new Date(Date.now() - 1000) })
    .execute()
  t.equal(await reason(accept, { invite: other, ticket: fresh }), 'INVALID_INVITE', 'expired')

  t.comment('An invite counts while its creator could make it')
  t.equal(await reason(update, { input: { singleSignOnOnly: false } }, owner.token), 'OK')
  for (const change of [
    () => reason(role, { input: { userId: ann.id, role: 'VIEWER' } }, owner.token),
    () => reason('mutation ($id: ID!) { removeSecondFactors(userId: $id) { id } }', { id: admin.id }, owner.token),
  ]) {
    const codes = [await inviteFor(ann.id), await inviteFor(admin.id)]
    t.equal(await change(), 'OK')
    const ends = await Promise.all(codes.map(each => reason(show, { invite: each })))
    t.same(ends.toSorted(), ['INVALID_INVITE', 'OK'], 'it ends with a change of its member')
  }
  const { token: asAdmin } = (await app.ask(login, { input: { email: 'admin@example.org', password } })).login
  const last = await inviteFor(ann.id, asAdmin)
  t.equal(await reason(show, { invite: last }), 'OK')
  t.equal(await reason(role, { input: { userId: admin.id, role: 'VIEWER' } }, owner.token), 'OK')
  t.equal(await reason(show, { invite: last }), 'INVALID_INVITE')
  for (const secret of [code, ticket, last]) t.notMatch(app.logged(), secret)

  t.comment('An owner sees and removes the identity that somebody linked with an invite')
  const list = 'query ($userId: ID!) { memberIdentities(userId: $userId) { id issuer email } }'
  const remove = 'mutation ($userId: ID!, $id: ID!) { removeMemberIdentity(userId: $userId, id: $id) }'
  t.equal(await reason(list, { userId: ann.id }, session), 'SCOPE_REQUIRED')
  const { memberIdentities: linked } = await app.ask(list, { userId: ann.id }, owner.token)
  t.match(linked, [{ issuer: url, email: 'admin@example.org' }])
  const [{ id }] = linked
  t.equal(await reason(remove, { userId: ann.id, id }, key), 'SESSION_REQUIRED')
  t.equal(await reason(remove, { userId: ann.id, id }, session), 'SCOPE_REQUIRED')
  t.equal(await reason(remove, { userId: admin.id, id }, owner.token), 'NOT_FOUND', 'the identity of somebody else')
  t.equal(await reason(remove, { userId: owner.id, id }, owner.token), 'OWN_MEMBERSHIP')
  t.equal(await reason(role, { input: { userId: admin.id, role: 'ADMIN' } }, owner.token), 'OK')
  const { token: again } = (await app.ask(login, { input: { email: 'admin@example.org', password } })).login
  t.equal(await reason(remove, { userId: owner.id, id }, again), 'EXCEEDS_OWN_REACH')
  t.equal(await reason(remove, { userId: ann.id, id }, again), 'OK')
  t.not(await reason(me, {}, session), 'OK', 'its sessions end')
  t.same(await app.ask(list, { userId: ann.id }, owner.token), { memberIdentities: [] })
  await app.app.services.audit.flush()
  const unlinks =
    '{ auditEvents(filter: { action: IDENTITY_UNLINK, result: "OK" }) { nodes { userId subjectId details } } }'
  t.match((await app.ask(unlinks, {}, owner.token)).auditEvents.nodes, [
    { userId: admin.id, subjectId: ann.id, details: { issuer: url, subject: 'ann' } },
  ])
  const sent = await app.db.selectFrom('account_notices').select('kind').where('user_id', '=', ann.id).execute()
  t.same(sent.map(({ kind }) => kind).toSorted(), ['IDENTITY_LINKED', 'IDENTITY_UNLINKED'])
})

/** Service accounts: members that are programs. They never sign in, and their keys outlive the people who create them. */
import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'

const create =
  'mutation ($input: CreateServiceAccountInput!) { createServiceAccount(input: $input) { id email name role isServiceAccount } }'
const createKey =
  'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id owner { id } } } }'
const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { role } }'
const remove = 'mutation ($userId: ID!) { removeMember(userId: $userId) }'
const users = 'query ($programs: Boolean) { users(serviceAccounts: $programs) { nodes { id name isServiceAccount } } }'

async function setUp(t: Test) {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  return {
    app,
    owner,
    providerId,
    within: (basePath: string) => ({ restrictions: [{ providerId, basePath }] }),
    async join(email: string, role: string) {
      const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
      const { createInvite } = await app.ask(invite, { input: { role } }, owner.token)
      return app.register(email, { invite: createInvite.invite })
    },
    async account(input: object, token = owner.token) {
      return (await app.ask(create, { input }, token)).createServiceAccount
    },
    async reason(query: string, variables: object, token: string | null = owner.token) {
      return (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK'
    },
  }
}

t.test('a service account is renamed, and a person is not', async t => {
  const { app, owner, join, account, reason } = await setUp(t)
  const rename =
    'mutation ($userId: ID!, $name: String!) { renameServiceAccount(userId: $userId, name: $name) { name } }'
  const [made] = [await account({ name: 'Backup', role: 'EDITOR' }), await account({ name: 'Deploy', role: 'VIEWER' })]
  t.match(await app.ask(rename, { userId: made.id, name: ' Backups ' }, owner.token), {
    renameServiceAccount: { name: 'Backups' },
  })
  t.equal(await reason(rename, { userId: made.id, name: 'Backups' }), 'OK', 'the same name')
  t.equal(await reason(rename, { userId: made.id, name: 'Deploy' }), 'ALREADY_EXISTS')
  t.equal(await reason(rename, { userId: made.id, name: '' }), 'INVALID_INPUT')
  t.equal(await reason(rename, { userId: owner.id, name: 'x' }), 'NOT_FOUND')
  t.equal(await reason(rename, { userId: 'x', name: 'x' }), 'NOT_FOUND')
  const editor = await join('editor@example.org', 'EDITOR')
  t.equal(await reason(rename, { userId: made.id, name: 'x' }, editor.token), 'SCOPE_REQUIRED')
  await app.app.services.audit.flush()
  const events =
    '{ auditEvents(filter: { action: SERVICE_ACCOUNT_RENAME, result: "OK" }) { nodes { subjectId details } } }'
  t.match((await app.ask(events, {}, owner.token)).auditEvents.nodes, [
    { subjectId: made.id, details: { before: 'Backups', after: 'Backups' } },
    { subjectId: made.id, details: { before: 'Backup', after: 'Backups' } },
  ])
})

atNight(t, 'keys of a service account outlive the administrator who created them', async t => {
  const { app, owner, providerId, within, join, account } = await setUp(t)
  const admin = await join('admin@example.org', 'ADMIN')
  const input = { name: 'Backup', role: 'EDITOR', providerAccess: within('/backups') }
  const made = await account(input, admin.token)
  t.match(made, { name: 'Backup', role: 'EDITOR', isServiceAccount: true })
  const { createApiKey } = await app.ask(
    createKey,
    { input: { name: 'nightly', scopes: ['write'], ofUser: made.id } },
    admin.token,
  )
  t.equal(createApiKey.apiKey.owner.id, made.id)
  await app.ask(remove, { userId: admin.id }, owner.token)
  t.equal((await app.upload(createApiKey.key, providerId, '/backups/one', 'x')).status, 201)
  t.equal((await app.upload(createApiKey.key, providerId, '/elsewhere', 'x')).status, 403)
  const { apiKeys } = await app.ask(
    'query ($id: ID!) { apiKeys(ofUser: $id) { nodes { name } } }',
    { id: made.id },
    owner.token,
  )
  t.same(apiKeys.nodes, [{ name: 'nightly' }])
  await app.app.services.audit.flush()
  const event = await app.ask(
    '{ auditEvents(filter: { action: UPLOAD }) { nodes { userId userName } } }',
    {},
    owner.token,
  )
  t.match(event.auditEvents.nodes.at(-1), { userId: made.id, userName: 'Backup' })

  t.same(
    (await app.ask(users, { programs: true }, owner.token)).users.nodes.map(({ id }: { id: string }) => id),
    [made.id],
  )
  t.same(
    (await app.ask(users, { programs: false }, owner.token)).users.nodes.map(({ id }: { id: string }) => id),
    [owner.id],
  )
  t.equal((await app.ask(users, {}, owner.token)).users.nodes.length, 2)

  await app.ask(update, { input: { userId: made.id, role: 'VIEWER' } }, owner.token)
  t.equal((await app.upload(createApiKey.key, providerId, '/backups/two', 'x')).status, 403)
  await app.ask(remove, { userId: made.id }, owner.token)
  t.equal((await app.download(createApiKey.key, providerId, '/backups/one')).status, 401)
  t.same(await app.db.selectFrom('users').select('id').where('is_service', '=', true).execute(), [])
})

t.test('a key has no more rights than its service account, and nobody makes keys of people', async t => {
  const { app, owner, within, join, account, reason } = await setUp(t)
  const made = await account({ name: 'Reader', role: 'VIEWER', providerAccess: within('/a') })
  const person = await join('person@example.org', 'VIEWER')
  const key = (input: object) => ({ input: { name: 'key', scopes: ['read'], ofUser: made.id, ...input } })
  t.equal(await reason(createKey, key({ scopes: ['write'] })), 'EXCEEDS_OWN_REACH')
  t.equal(await reason(createKey, key({ providerAccess: within('/') })), 'EXCEEDS_OWN_REACH')
  t.equal(await reason(createKey, key({ providerAccess: within('/a/b') })), 'OK')
  t.equal(await reason(createKey, key({ ofUser: person.id })), 'EXCEEDS_OWN_REACH')
  t.equal(await reason(createKey, key({ ofUser: 'nobody' })), 'NOT_FOUND')
  t.equal(await reason(createKey, key({}), person.token), 'SCOPE_REQUIRED')
  const admin = await app.createKey(owner.token, { name: 'admin', scopes: ['admin'] })
  t.equal(await reason(createKey, key({}), admin.key), 'OK')
  const soon = new Date(Date.now() + 3600_000).toISOString()
  const short = await app.createKey(owner.token, { name: 'short', scopes: ['admin'], expiresAt: soon })
  t.equal(await reason(createKey, key({}), short.key), 'EXCEEDS_OWN_REACH', 'it would outlive the key that makes it')
  const { key: own } = (await app.ask(createKey, key({}), owner.token)).createApiKey
  t.equal(await reason(createKey, key({}), own), 'SESSION_REQUIRED', 'the account itself makes none')
})

t.test('a service account never signs in and never owns the workspace', async t => {
  const { app, owner, join, account, reason } = await setUp(t)
  const made = await account({ name: 'Program', role: 'ADMIN' })
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  t.equal(await reason(login, { input: { email: made.email, password } }, null), 'WRONG_EMAIL_OR_PASSWORD')
  t.equal(await reason(login, { input: { email: made.email, password: '' } }, null), 'WRONG_EMAIL_OR_PASSWORD')
  const reset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
  t.equal(await reason(reset, { userId: made.id }), 'INVALID_INPUT')
  const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
  t.equal(await reason(register, { input: { email: made.email, password } }, null), 'ALREADY_EXISTS')
  t.equal(await reason(create, { input: { name: 'Owner', role: 'OWNER' } }), 'INVALID_INPUT')
  t.equal(await reason(update, { input: { userId: made.id, role: 'OWNER' } }), 'INVALID_INPUT')
  t.equal(await reason(create, { input: { name: 'Program', role: 'VIEWER' } }), 'ALREADY_EXISTS')
  const admin = await join('admin@example.org', 'ADMIN')
  t.equal(await reason(create, { input: { name: 'Owner', role: 'OWNER' } }, admin.token), 'EXCEEDS_OWN_REACH')
  const editor = await join('editor@example.org', 'EDITOR')
  t.equal(await reason(create, { input: { name: 'More', role: 'NONE' } }, editor.token), 'SCOPE_REQUIRED')
  const group = 'mutation { createGroup(input: { name: "Programs", role: EDITOR }) { group { id } } }'
  const groupId = (await app.ask(group, {}, owner.token)).createGroup.group.id
  const add =
    'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { memberCount } }'
  t.match(await app.ask(add, { groupId, userId: made.id }, owner.token), { addGroupMember: { memberCount: 1 } })
})

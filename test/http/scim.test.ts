/** SCIM 2.0 with the requests that Microsoft Entra and Okta send, as their documentation shows them. */
import t, { type Test } from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'

const createToken =
  'mutation ($input: CreateScimTokenInput!) { createScimToken(input: $input) { token url scimToken { id directory { id } } } }'
const revoke = 'mutation ($id: ID!) { revokeScimToken(id: $id) }'
const core = 'urn:ietf:params:scim:schemas:core:2.0'
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
type Body = any

function scimClient(app: TestApp, token: string) {
  return async (method: string, path: string, body?: unknown, type = 'application/scim+json') => {
    const response = await app.request(`/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as Body }
  }
}

async function setUp(t: Test) {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const made = (await app.ask(createToken, { input: { name: 'Entra' } }, owner.token)).createScimToken
  return { app, owner, made, scim: scimClient(app, made.token) }
}

/** A user as Microsoft Entra creates one. */
const entraUser = (name: string, more: object = {}) => ({
  schemas: [`${core}:User`, enterprise],
  externalId: `0a21f0f2-8d2a-4f8e-bf98-7363c4aed4${name}`,
  userName: `Test_User_${name}@testuser.com`,
  active: true,
  emails: [{ primary: true, type: 'work', value: `Test_User_${name}@testuser.com` }],
  meta: { resourceType: 'User' },
  name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
  roles: [],
  password: 'is ignored',
  [enterprise]: { department: 'IT' },
  ...more,
})

const patch = (...Operations: object[]) => ({ schemas: [patchSchema], Operations })

atNight(t, 'Microsoft Entra', async t => {
  const { app, owner, made, scim } = await setUp(t)
  t.equal(made.url, `${app.url}/scim/v2`)
  t.match(await scim('GET', '/Users?filter=userName+eq+%22non-existent+user%22'), {
    status: 200,
    body: { schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'], totalResults: 0, Resources: [] },
  })
  const created = await scim('POST', '/Users', entraUser('ab'))
  t.match(created, {
    status: 201,
    body: {
      schemas: [`${core}:User`],
      userName: 'Test_User_ab@testuser.com',
      active: true,
      displayName: 'givenName familyName',
      name: { givenName: 'givenName', familyName: 'familyName' },
      emails: [{ value: 'Test_User_ab@testuser.com', type: 'work', primary: true }],
      meta: { resourceType: 'User' },
    },
  })
  t.match(created.headers.get('content-type'), 'application/scim+json')
  const { id } = created.body
  t.equal(created.headers.get('location'), `${app.url}/scim/v2/Users/${id}`)
  t.notMatch(JSON.stringify(created.body), 'password')
  t.match(await scim('POST', '/Users', entraUser('ab')), {
    status: 409,
    body: { status: '409', scimType: 'uniqueness' },
  })
  t.match((await scim('GET', `/Users/${id}`)).body, { id })
  for (const filter of [
    'userName eq "test_user_AB@testuser.com"',
    'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ab"',
    'emails[type eq "work"].value eq "Test_User_ab@testuser.com"',
    'emails.value co "USER_AB"',
    'displayName sw "givenname" and active eq true',
    `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "Test_User_ab@testuser.com"`,
  ]) {
    t.equal((await scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body.totalResults, 1, filter)
  }

  const multiple = patch(
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@microsoft.com' },
    { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
    { op: 'Add', path: 'displayName', value: 'Updated Name' },
    { op: 'Add', path: `${enterprise}:department`, value: 'Sales' },
    { op: 'Replace', path: 'roles[primary eq "True"].value', value: 'nothing' },
  )
  t.match(await scim('PATCH', `/Users/${id}`, multiple), {
    status: 200,
    body: {
      emails: [{ value: 'updatedEmail@microsoft.com' }],
      name: { familyName: 'updatedFamilyName' },
      displayName: 'Updated Name',
    },
  })
  t.match(
    (
      await scim(
        'PATCH',
        `/Users/${id}`,
        patch({ op: 'replace', value: { 'name.givenName': 'New', userName: 'new@testuser.com' } }),
      )
    ).body,
    {
      name: { givenName: 'New' },
      userName: 'new@testuser.com',
    },
  )

  // Groups: their role and access come from the administrator.
  const group = await scim('POST', '/Groups', {
    externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
    schemas: [`${core}:Group`, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
    displayName: 'displayName',
    members: [],
    meta: { resourceType: 'Group' },
  })
  t.match(group, { status: 201, body: { displayName: 'displayName', members: [] } })
  const groupId = group.body.id
  t.match((await scim('GET', '/Groups?excludedAttributes=members&filter=displayName+eq+%22DISPLAYNAME%22')).body, {
    totalResults: 1,
    Resources: [{ id: groupId, members: undefined }],
  })
  const add = patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: id }] })
  t.equal((await scim('PATCH', `/Groups/${groupId}`, add)).status, 204)
  t.equal((await scim('PATCH', `/Groups/${groupId}`, add)).status, 204, 'twice')
  const update = 'mutation ($input: UpdateGroupInput!) { updateGroup(input: $input) { id } }'
  await app.ask(update, { input: { id: groupId, role: 'EDITOR' } }, owner.token)
  const view = 'mutation ($id: ID!) { viewMember(userId: $id) { scopes user { directory issuedGroupIds } } }'
  t.match(await app.ask(view, { id }, owner.token), {
    viewMember: { scopes: ['read', 'write'], user: { directory: 'SCIM', issuedGroupIds: [groupId] } },
  })
  const take = 'mutation ($groupId: ID!, $userId: ID!) { removeGroupMember(groupId: $groupId, userId: $userId) { id } }'
  t.match((await app.graphql(take, { groupId, userId: id }, owner.token)).errors, [{ message: /directory/ }])
  t.match((await scim('GET', `/Groups/${groupId}`)).body.members, [{ value: id, display: 'Updated Name' }])
  const member = encodeURIComponent(`members eq "${id}"`)
  t.equal((await scim('GET', `/Groups?filter=${member}`)).body.totalResults, 1)
  const drop = patch({ op: 'Remove', path: `members[value eq "${id}"]` })
  t.equal((await scim('PATCH', `/Groups/${groupId}`, drop)).status, 204)
  t.same((await scim('GET', `/Groups/${groupId}`)).body.members, [])
  const rename = patch({ op: 'Replace', path: 'displayName', value: 'renamed' })
  t.equal((await scim('PATCH', `/Groups/${groupId}`, rename)).status, 204)
  t.equal((await scim('DELETE', `/Groups/${groupId}`)).status, 204)
  t.equal((await scim('GET', `/Groups/${groupId}`)).status, 404)

  t.match((await scim('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))).body, {
    active: false,
  })
  t.match((await scim('PATCH', `/Users/${id}`, patch({ op: 'Add', value: { active: 'True' } }))).body, { active: true })
  t.equal((await scim('DELETE', `/Users/${id}`)).status, 204)
  t.match(await scim('GET', `/Users/${id}`), { status: 404, body: { status: '404', detail: String } })

  await app.app.services.audit.flush()
  const events = '{ auditEvents(first: 100) { nodes { action credentialKind credentialId address details } } }'
  const found = (await app.ask(events, {}, owner.token)).auditEvents.nodes
  for (const action of [
    'MEMBER_CREATE',
    'MEMBER_DEACTIVATE',
    'MEMBER_REACTIVATE',
    'MEMBER_REMOVE',
    'GROUP_CREATE',
    'GROUP_UPDATE',
  ]) {
    const event = found.find((each: Body) => each.action === action && each.credentialKind === 'SCIM_TOKEN')
    t.match(event, { credentialId: made.scimToken.id, address: '127.0.0.1', details: { token: 'Entra' } }, action)
  }
  t.notMatch(app.logged() + JSON.stringify(found), made.token)
})

t.test('Okta', async t => {
  const { app, owner, scim } = await setUp(t)
  t.match((await scim('GET', '/Users?startIndex=1&count=2')).body, { totalResults: 0, startIndex: 1, itemsPerPage: 0 })
  const person = (name: string) => ({
    schemas: [`${core}:User`],
    userName: `${name}@okta.local`,
    name: { givenName: name, familyName: 'User' },
    emails: [{ primary: true, value: `${name}@okta.local`, type: 'work' }],
    displayName: `${name} User`,
    locale: 'en-US',
    externalId: `00ujl29u0le5T6Aj10h7${name}`,
    groups: [],
    password: '1mz050nq',
    active: true,
  })
  const [ann, bob, cid] = [
    (await scim('POST', '/Users', person('ann'), 'application/scim+json; charset=utf-8')).body,
    (await scim('POST', '/Users', person('bob'), 'application/json')).body,
    (await scim('POST', '/Users', person('cid'))).body,
  ]
  const pages = [await scim('GET', '/Users?startIndex=1&count=2'), await scim('GET', '/Users?startIndex=3&count=2')]
  t.match(
    pages.map(({ body }) => [body.totalResults, body.startIndex, body.itemsPerPage]),
    [
      [3, 1, 2],
      [3, 3, 1],
    ],
  )
  const changed = await scim('PUT', `/Users/${ann.id}`, {
    ...ann,
    displayName: 'Ann Other',
    emails: [{ value: 'other@okta.local', primary: true }],
  })
  t.match(changed, { status: 200, body: { displayName: 'Ann Other', emails: [{ value: 'other@okta.local' }] } })

  // A session and a key end at once, on every replica.
  const replica = await app.replica()
  const reset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
  const { token } = (await app.ask(reset, { userId: ann.id }, owner.token)).createPasswordReset
  const newPassword = 'a password of this test'
  await app.ask('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }', {
    input: { token, newPassword },
  })
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const session = (await app.ask(login, { input: { email: 'other@okta.local', password: newPassword } })).login.token
  const role = { userId: ann.id, role: 'VIEWER' }
  await app.ask(
    'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
    { input: role },
    owner.token,
  )
  const { key } = await app.createKey(session, { name: 'key', scopes: ['read'] })
  const statuses = () =>
    Promise.all([session, key].map(async by => (await replica.graphql('{ me { id } }', {}, by)).status))
  t.same(await statuses(), [200, 200])
  t.equal((await scim('PATCH', `/Users/${ann.id}`, patch({ op: 'replace', value: { active: false } }))).status, 200)
  t.same(await statuses(), [401, 401])
  t.equal((await scim('PUT', `/Users/${ann.id}`, { ...ann, active: true })).body.active, true)
  t.same(await statuses(), [401, 200], 'the key works again')
  await app.ask('mutation ($id: ID!) { deactivateMember(userId: $id) { id } }', { id: ann.id }, owner.token)
  t.equal((await scim('PUT', `/Users/${ann.id}`, { ...ann, active: true })).body.active, false, 'by an administrator')
  await app.ask('mutation ($id: ID!) { reactivateMember(userId: $id) { id } }', { id: ann.id }, owner.token)

  // Group push: a group that exists is linked, and keeps the members of the administrator.
  const create = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }'
  const groupId = (await app.ask(create, { input: { name: 'Staff', role: 'VIEWER' } }, owner.token)).createGroup.group
    .id
  const local = await app.register('local@example.org')
  const join = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
  await app.ask(join, { groupId, userId: local.id }, owner.token)
  const push = patch(
    { op: 'replace', value: { id: groupId, displayName: 'Staff' } },
    {
      op: 'replace',
      path: 'members',
      value: [
        { value: ann.id, display: 'Ann' },
        { value: bob.id, display: 'Bob' },
      ],
    },
  )
  t.equal((await scim('PATCH', `/Groups/${groupId}`, push)).status, 204)
  const puts = {
    schemas: [`${core}:Group`],
    id: groupId,
    displayName: 'Staff',
    members: [{ value: cid.id }, { value: bob.id }],
  }
  t.match((await scim('PUT', `/Groups/${groupId}`, puts)).body.members.length, 2)
  const members = 'query ($groupId: ID) { users(groupId: $groupId) { nodes { email } } }'
  t.same((await app.ask(members, { groupId }, owner.token)).users.nodes.map(({ email }: Body) => email).toSorted(), [
    'bob@okta.local',
    'cid@okta.local',
    'local@example.org',
  ])
  t.match(await scim('PATCH', `/Groups/${groupId}`, patch({ op: 'replace', value: { displayName: 'Else' } })), {
    status: 400,
  })
  t.equal((await scim('DELETE', `/Groups/${groupId}`)).status, 204)
  t.same(
    (await app.ask(members, { groupId }, owner.token)).users.nodes,
    [{ email: 'local@example.org' }],
    'a group of an administrator stays',
  )
})

t.test('an operation changes only the members that its path selects', async t => {
  const { scim } = await setUp(t)
  const { id } = (await scim('POST', '/Users', entraUser('aa'))).body
  const groupId = (await scim('POST', '/Groups', { displayName: 'Group', members: [{ value: id }] })).body.id
  for (const operation of [
    { op: 'remove', path: 'members[type eq "Group"]' },
    { op: 'remove', path: `members[display eq "nobody"]` },
    { op: 'remove', path: 'members.value' },
    { op: 'remove', path: `members[value eq "${id}"].display` },
    { op: 'replace', path: 'members[type eq "Group"]', value: [] },
    { op: 'replace', value: { 'members[type eq "Group"]': [] } },
    { op: 'replace', path: 'members' },
  ]) {
    const { status } = await scim('PATCH', `/Groups/${groupId}`, patch(operation))
    t.equal(status, 400, JSON.stringify(operation))
    t.match((await scim('GET', `/Groups/${groupId}`)).body.members, [{ value: id }])
  }
  for (const [path, value] of [
    ['emails[type eq "home"].value', 'home@example.org'],
    ['emails[primary eq false].value', 'second@example.org'],
    ['emails[type eq "home"]', { value: 'home@example.org' }],
  ]) {
    const { body } = await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value }))
    t.match(body, { emails: [{ value: 'Test_User_aa@testuser.com' }] }, `${path}`)
  }
  for (const path of ['emails[primary eq true].value', 'emails[type eq "work"].value', 'emails']) {
    const value = `by-${path.length}@example.org`
    const { body } = await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value }))
    t.match(body, { emails: [{ value }] }, path)
  }
})

t.test('an owner, other accounts and other groups are out of reach', async t => {
  const { app, owner, scim } = await setUp(t)
  t.match(await scim('POST', '/Users', entraUser('oo', { emails: [{ value: 'OWNER@example.org' }] })), {
    status: 409,
    body: { scimType: 'uniqueness', detail: /remove that member/ },
  })
  t.equal((await scim('GET', `/Users/${owner.id}`)).status, 404, 'who is no user of SCIM is invisible')
  t.equal(
    (await scim('PATCH', `/Users/${owner.id}`, patch({ op: 'replace', path: 'active', value: false }))).status,
    404,
  )
  const { id } = (await scim('POST', '/Users', entraUser('aa'))).body
  const input = { userId: id, role: 'OWNER' }
  await app.ask('mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }', { input }, owner.token)
  for (const [method, body] of [
    ['PATCH', patch({ op: 'replace', path: 'active', value: false })],
    ['PUT', entraUser('aa', { active: false })],
    ['DELETE', undefined],
  ] as const) {
    t.match(await scim(method, `/Users/${id}`, body), { status: 403, body: { status: '403' } }, method)
  }
  const group = { displayName: 'Group', members: [{ value: owner.id }] }
  t.match(await scim('POST', '/Groups', group), { status: 400, body: { detail: /no user of this directory/ } })
  const empty = await scim('POST', '/Groups', { ...group, members: [{ value: id }] })
  t.same(empty.body.members, [], 'an owner gets no groups')
})

atNight(t, 'two directories: each has its own users, and the first one keeps an address', async t => {
  const { app, owner, made, scim } = await setUp(t)
  const create = async (input: object) => (await app.ask(createToken, { input }, owner.token)).createScimToken
  const okta = scimClient(app, (await create({ name: 'Okta' })).token)
  const ann = (await scim('POST', '/Users', entraUser('aa'))).body
  const taken = await okta('POST', '/Users', entraUser('aa'))
  t.match(taken, { status: 409, body: { scimType: 'uniqueness', detail: /of the directory "Entra".*use a new token/ } })
  const bob = (await okta('POST', '/Users', { ...entraUser('aa'), emails: [{ value: 'bob@example.org' }] })).body
  t.equal(bob.userName, ann.userName, 'names and external ids are those of each directory')
  t.equal(bob.externalId, ann.externalId)
  t.match(
    await okta(
      'PATCH',
      `/Users/${bob.id}`,
      patch({ op: 'replace', path: 'emails', value: 'Test_User_aa@testuser.com' }),
    ),
    { status: 409 },
  )
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', entraUser('aa')],
    ['PATCH', patch({ op: 'replace', path: 'active', value: false })],
    ['DELETE', undefined],
  ] as const) {
    t.equal((await okta(method, `/Users/${ann.id}`, body)).status, 404, method)
  }
  t.match((await okta('GET', '/Users')).body, { totalResults: 1, Resources: [{ id: bob.id }] })

  // Both use one group, under ids of their own. Who has created it renames and deletes it.
  const id = (await scim('POST', '/Groups', { displayName: 'Staff', externalId: 'e', members: [{ value: ann.id }] }))
    .body.id
  t.match(await okta('POST', '/Groups', { displayName: 'staff' }), { status: 409 })
  t.match((await okta('GET', `/Groups/${id}`)).body, { displayName: 'Staff', externalId: undefined, members: [] })
  const foreign = patch({ op: 'add', path: 'members', value: [{ value: ann.id }] })
  t.match(await okta('PATCH', `/Groups/${id}`, foreign), { status: 400, body: { detail: /no user of this directory/ } })
  const put = { displayName: 'Staff', externalId: 'o', members: [{ value: bob.id }] }
  t.match((await okta('PUT', `/Groups/${id}`, put)).body, { externalId: 'o', members: [{ value: bob.id }] })
  t.match((await scim('GET', `/Groups/${id}`)).body, { externalId: 'e', members: [{ value: ann.id }] })
  for (const [by, externalId, count] of [
    [scim, 'e', 1],
    [scim, 'o', 0],
    [okta, 'o', 1],
  ] as const) {
    t.equal((await by('GET', `/Groups?filter=externalId+eq+%22${externalId}%22`)).body.totalResults, count)
  }
  t.equal((await okta('PUT', `/Groups/${id}`, { ...put, displayName: 'Else' })).status, 400)
  const update = 'mutation ($input: UpdateGroupInput!) { updateGroup(input: $input) { id } }'
  t.equal((await okta('PUT', `/Groups/${id}`, { ...put, members: [] })).status, 200)
  await app.ask(update, { input: { id, role: 'ADMIN' } }, owner.token)
  t.equal((await okta('PUT', `/Groups/${id}`, put)).status, 403, 'administrators of another directory')
  t.equal((await okta('DELETE', `/Groups/${id}`)).status, 204)
  t.match((await scim('GET', `/Groups/${id}`)).body, { externalId: 'e', members: [{ value: ann.id }] }, 'stays')

  // Without a token of Entra, its users stay with it, and another token takes over.
  await app.ask(revoke, { id: made.scimToken.id }, owner.token)
  const directories = '{ scimDirectories { id name } users { nodes { email directoryName } } }'
  const found = await app.ask(directories, {}, owner.token)
  t.match(found.scimDirectories, [{ id: made.scimToken.directory.id, name: 'Entra' }, { name: 'Okta' }])
  t.match(
    found.users.nodes.find(({ email }: Body) => email === 'bob@example.org'),
    { directoryName: 'Okta' },
  )
  const { directory } = made.scimToken
  const input = { name: 'Entra of the new tenant', directoryId: directory.id }
  const next = scimClient(app, (await create(input)).token)
  t.match((await next('GET', `/Users/${ann.id}`)).body, { id: ann.id, active: true })
  for (const bad of [
    { ...input, issuer: 'https://issuer.example' },
    { name: 'x', directoryId: '00000000-0000-4000-8000-000000000000' },
    { name: 'x', directoryId: 'x' },
    { name: 'Okta' },
  ]) {
    t.equal((await app.graphql(createToken, { input: bad }, owner.token)).data, null, JSON.stringify(bad))
  }
})

t.test('a token takes nothing from administrators, and makes none', async t => {
  const { app, owner, made, scim } = await setUp(t)
  const { id } = (await scim('POST', '/Users', entraUser('aa'))).body
  const create = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }'
  const group = async (name: string, role: string) =>
    (await app.ask(create, { input: { name, role } }, owner.token)).createGroup.group.id as string
  const add = patch({ op: 'add', path: 'members', value: [{ value: id }] })
  const admins = await group('Admins', 'ADMIN')
  t.match(await scim('PATCH', `/Groups/${admins}`, add), { status: 403 })
  const staff = await group('Staff', 'VIEWER')
  const join = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
  await app.ask(join, { groupId: staff, userId: id }, owner.token)
  t.equal((await scim('PATCH', `/Groups/${staff}`, add)).status, 204)
  t.equal((await scim('PATCH', `/Groups/${staff}`, patch({ op: 'remove', path: 'members' }))).status, 204)
  const member = 'query ($groupId: ID) { users(groupId: $groupId) { nodes { id } } }'
  t.same((await app.ask(member, { groupId: staff }, owner.token)).users.nodes, [{ id }], 'the administrator has added')

  const deactivate = patch({ op: 'replace', path: 'active', value: false })
  t.equal((await scim('PATCH', `/Users/${id}`, deactivate)).body.active, false)
  t.equal((await scim('PATCH', `/Users/${id}`, deactivate)).body.active, false, 'twice')
  await app.app.services.audit.flush()
  const events = '{ auditEvents { nodes { action credentialKind } } }'
  const actions = (await app.ask(events, {}, owner.token)).auditEvents.nodes
    .filter(({ credentialKind }: Body) => credentialKind === 'SCIM_TOKEN')
    .map(({ action }: Body) => action)
  t.equal(actions.filter((action: string) => action === 'MEMBER_DEACTIVATE').length, 1, 'once')

  const groupId = (await scim('POST', '/Groups', { displayName: 'Own', members: [{ value: id }] })).body.id
  const take = 'mutation ($groupId: ID!, $userId: ID!) { removeGroupMember(groupId: $groupId, userId: $userId) { id } }'
  t.match((await app.graphql(take, { groupId, userId: id }, owner.token)).errors, [{ message: /directory/ }])
  await app.ask(revoke, { id: made.scimToken.id }, owner.token)
  t.match(await app.ask(take, { groupId, userId: id }, owner.token), { removeGroupMember: { id: groupId } }, 'no more')
})

t.test('bad input', async t => {
  const { app, owner, made, scim } = await setUp(t)
  const { id } = (await scim('POST', '/Users', entraUser('aa'))).body
  for (const filter of [
    'userName',
    'userName eq',
    'userName eq x',
    'userName gt "x"',
    'password eq "x"',
    '__proto__ eq "x"',
    'userName eq "x" or userName eq "y"',
    'userName eq "\\u0000"',
    'userName eq "x',
    '('.repeat(500),
    Array(11).fill('userName eq "x"').join(' and '),
    `userName eq "${'x'.repeat(2000)}"`,
    `not (userName eq "x")`,
  ]) {
    const { status, body } = await scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)
    t.match({ status, body }, { status: 400, body: { scimType: 'invalidFilter' } }, filter.slice(0, 50))
  }
  for (const filter of [`userName co "%"`, `userName eq "' or 1=1 --"`, `id eq "x"`, `externalId sw "\\\\"`]) {
    t.equal((await scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body.totalResults, 0, filter)
  }
  const reject = async (method: string, path: string, body: unknown, status = 400) =>
    t.equal((await scim(method, path, body)).status, status, `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`)
  for (const body of ['', '{', '[]', 'null', {}, { userName: 'no address' }, { userName: '', emails: [] }]) {
    await reject('POST', '/Users', body)
  }
  await reject('POST', '/Users', { userName: 1 })
  await reject('POST', '/Users', entraUser('xx', { userName: 'x'.repeat(300) }))
  await reject('POST', '/Users', entraUser('xx', { userName: 'nul\0@example.org' }))
  await reject('POST', '/Users', entraUser('xx', { displayName: '\ud800' }))
  await reject('POST', '/Users', entraUser('xx', { active: 'perhaps' }))
  await reject('POST', '/Users', `{"userName":${'['.repeat(1000)}${']'.repeat(1000)}}`)
  for (const operations of [
    [],
    [{ op: 'test', path: 'active', value: true }],
    [{ op: 'remove' }],
    [{ op: 'replace', path: 'emails[', value: 'x' }],
    [{ op: 'replace', path: 'active', value: {} }],
    [{ op: 'replace', value: 'active' }],
    Array(1001).fill({ op: 'replace', path: 'active', value: true }),
  ]) {
    await reject('PATCH', `/Users/${id}`, patch(...operations))
  }
  await reject('GET', '/Users/not-an-id', undefined, 404)
  await reject('GET', '/Users?count=many', undefined)
  await reject('GET', '/Nothing', undefined, 404)
  t.match((await scim('GET', '/Users?count=0')).body, { totalResults: 1, itemsPerPage: 0 })
  t.match((await scim('GET', '/Users?count=-1&startIndex=-5')).body, { totalResults: 1, startIndex: 1 })
  t.equal((await scim('POST', '/Users', '{}', 'text/plain')).status, 415)
  t.equal((await scim('POST', '/Users', `"${'x'.repeat(3_000_000)}"`)).status, 413)

  // Only its own token opens SCIM, and the token opens nothing else.
  const { key } = await app.createKey(owner.token, { name: 'key', scopes: ['admin'] })
  for (const other of ['', 'x', key, owner.token, `stw_scim_${'0'.repeat(40)}`]) {
    t.match(await scimClient(app, other)('GET', '/Users'), { status: 401, body: { status: '401' } })
  }
  t.equal((await app.request('/scim/v2/Users')).status, 401)
  for (const path of ['/graphql', '/api/download?providerId=x&path=/', '/dav', '/mcp']) {
    t.equal(
      (await app.request(path, { method: 'POST', headers: { authorization: `Bearer ${made.token}` } })).status,
      401,
      path,
    )
  }
  t.match((await app.graphql(createToken, { input: { name: 'x' } }, key)).errors, [
    { extensions: { reason: 'SESSION_REQUIRED' } },
  ])
  t.match(
    (await app.graphql(createToken, { input: { name: 'x', issuer: 'https://evil.example' } }, owner.token)).errors,
    [{ extensions: { reason: 'INVALID_INPUT' } }],
  )
  await app.ask(revoke, { id: made.scimToken.id }, owner.token)
  t.match(await scim('GET', '/Users'), { status: 401 })
})

atNight(t, 'requests of a token, and wrong tokens of an address, are limited', async t => {
  const rateLimit = 50
  const app = await startApp(t, { settings: { rateLimit } })
  const { token } = await app.register('owner@example.org')
  const made = (await app.ask(createToken, { input: { name: 'Entra' } }, token)).createScimToken
  const answers = async (by: string, count: number) => {
    const found = await Promise.all(Array.from({ length: count }, () => scimClient(app, by)('GET', '/Users?count=1')))
    const limited = found.find(({ status }) => status === 429)
    return { statuses: [...new Set(found.map(({ status }) => status))].toSorted(), limited }
  }
  const { statuses, limited } = await answers(made.token, rateLimit + 10)
  t.same(statuses, [200, 429])
  t.match(limited?.body, { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '429', detail: String })
  t.ok(Number(limited?.headers.get('retry-after')) > 0)
  t.same((await answers('stw_scim_wrong', 310)).statuses, [401, 429])
})

t.test('discovery', async t => {
  const { scim } = await setUp(t)
  t.match((await scim('GET', '/ServiceProviderConfig')).body, {
    patch: { supported: true },
    bulk: { supported: false },
    filter: { supported: true, maxResults: 200 },
    authenticationSchemes: [{ type: 'oauthbearertoken' }],
  })
  t.match((await scim('GET', '/ResourceTypes')).body, { totalResults: 2, Resources: [{ id: 'User' }, { id: 'Group' }] })
  t.match((await scim('GET', '/ResourceTypes/Group')).body, { endpoint: '/Groups', schema: `${core}:Group` })
  t.match((await scim('GET', '/Schemas')).body, { totalResults: 2 })
  t.match((await scim('GET', `/Schemas/${core}:User`)).body, { name: 'User', attributes: [{ name: 'userName' }] })
  t.equal((await scim('GET', '/Schemas/nothing')).status, 404)
})

/** Groups: their role and access add to those of their members, on every replica, and end with them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { maxGroups, maxGroupsOfMember } from '../../src/services/people/groups.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'

const create = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id name role } } }'
const update = 'mutation ($input: UpdateGroupInput!) { updateGroup(input: $input) { id name role } }'
const remove = 'mutation ($id: ID!) { deleteGroup(id: $id) { id } }'
const add = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
const take = 'mutation ($groupId: ID!, $userId: ID!) { removeGroupMember(groupId: $groupId, userId: $userId) { id } }'
const viewer =
  '{ viewer { scopes providerAccess { all restrictions { basePath } } user { role effectiveRole groups { name } } } }'
const updateMember = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id role } }'

async function setUp(t: Test) {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const within = (...basePaths: string[]) => ({ restrictions: basePaths.map(basePath => ({ providerId, basePath })) })
  return {
    app,
    owner,
    providerId,
    within,
    async join(email: string, role: string, providerAccess: object = { all: true }) {
      const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
      const { createInvite } = await app.ask(invite, { input: { role, providerAccess } }, owner.token)
      return app.register(email, { invite: createInvite.invite })
    },
    async group(input: object, token = owner.token): Promise<string> {
      return (await app.ask(create, { input }, token)).createGroup.group.id
    },
    async reason(query: string, variables: object, token = owner.token) {
      return (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK'
    },
    async rights(token: string) {
      const { scopes, providerAccess, user } = (await app.ask(viewer, {}, token)).viewer
      const paths = providerAccess.restrictions.map(({ basePath }: { basePath: string }) => basePath)
      return { scope: scopes.at(-1) ?? null, paths: providerAccess.all ? 'all' : paths, role: user.effectiveRole }
    },
  }
}

t.test('a group adds its role and access to those of its members and of their keys', async t => {
  const { app, owner, providerId, within, join, group, rights } = await setUp(t)
  const replica = await app.replica()
  const ann = await join('ann@example.org', 'VIEWER', within('/team'))
  const { key } = await app.createKey(ann.token, { name: 'key', scopes: ['read'] })
  const groupId = await group({ name: 'Writers', role: 'EDITOR', providerAccess: within('/plans', '/team/below') })
  t.same(await rights(ann.token), { scope: 'read', paths: ['/team'], role: 'VIEWER' })
  await app.ask(add, { groupId, userId: ann.id }, owner.token)
  for (const at of [app, replica]) {
    const { user, scopes } = (await at.ask(viewer, {}, ann.token)).viewer
    t.match({ user, scopes }, { user: { role: 'VIEWER', effectiveRole: 'EDITOR', groups: [{ name: 'Writers' }] } })
    t.same(scopes, ['read', 'write'])
    t.equal((await at.upload(ann.token, providerId, '/plans/file', 'x', '&conflict=replace')).status, 201)
    t.equal((await at.upload(ann.token, providerId, '/elsewhere', 'x')).status, 403)
    t.equal((await at.download(key, providerId, '/plans/file')).status, 200, 'a key has the access of its owner')
    t.equal((await at.upload(key, providerId, '/plans/file', 'x')).status, 403, 'but not more than it was given')
  }
  const view = `mutation ($id: ID!) { viewMember(userId: $id) {
    scopes user { groups { name role } } providerAccess { restrictions { basePath } } } }`
  t.match((await app.ask(view, { id: ann.id }, owner.token)).viewMember, {
    scopes: ['read', 'write'],
    user: { groups: [{ name: 'Writers', role: 'EDITOR' }] },
    providerAccess: { restrictions: [{ basePath: '/plans' }, { basePath: '/team' }] },
  })
  await app.ask(update, { input: { id: groupId, role: 'VIEWER' } }, owner.token)
  t.equal((await replica.upload(ann.token, providerId, '/plans/more', 'x')).status, 403)
  t.equal((await replica.download(ann.token, providerId, '/plans/file')).status, 200)
  await app.ask(update, { input: { id: groupId, providerAccess: within('/other') } }, owner.token)
  t.equal((await replica.download(ann.token, providerId, '/plans/file')).status, 403)
  await app.ask(update, { input: { id: groupId, role: 'ADMIN', providerAccess: { all: true } } }, owner.token)
  t.same(await rights(ann.token), { scope: 'admin', paths: 'all', role: 'ADMIN' })
  await app.ask(remove, { id: groupId }, owner.token)
  t.same(await rights(ann.token), { scope: 'read', paths: ['/team'], role: 'VIEWER' })
})

t.test('the role NONE takes its access with it', async t => {
  const { app, owner, within, join, group, rights } = await setUp(t)
  const bob = await app.register('bob@example.org')
  const groupId = await group({ name: 'Readers', role: 'VIEWER', providerAccess: within('/public') })
  const empty = await group({ name: 'Nothing', role: 'NONE' })
  await app.ask(add, { groupId: empty, userId: bob.id }, owner.token)
  t.same(await rights(bob.token), { scope: null, paths: [], role: 'NONE' })
  await app.ask(add, { groupId, userId: bob.id }, owner.token)
  t.same(await rights(bob.token), { scope: 'read', paths: ['/public'], role: 'VIEWER' }, 'not all providers')
  const cid = await join('cid@example.org', 'VIEWER', within('/team'))
  await app.ask(add, { groupId: empty, userId: cid.id }, owner.token)
  t.same(await rights(cid.token), { scope: 'read', paths: ['/team'], role: 'VIEWER' })
})

atNight(t, 'a change of a group that has returned holds on every replica', async t => {
  const { app, owner, providerId, within, join, group } = await setUp(t)
  const replicas = [app, await app.replica(), await app.replica()]
  const ann = await join('ann@example.org', 'NONE')
  await app.upload(owner.token, providerId, '/plans/file', 'x')
  const statuses = () =>
    Promise.all(replicas.map(async each => (await each.download(ann.token, providerId, '/plans/file')).status))
  for (let round = 0; round < 3; round++) {
    const groupId = await group({ name: `Readers ${round}`, role: 'VIEWER', providerAccess: within('/plans') })
    const userId = ann.id
    for (const [query, variables] of [
      [take, { groupId, userId }],
      [update, { input: { id: groupId, role: 'NONE' } }],
      [remove, { id: groupId }],
    ] as const) {
      if (query === remove) await app.ask(update, { input: { id: groupId, role: 'VIEWER' } }, owner.token)
      await app.ask(add, { groupId, userId }, owner.token)
      // The third time, all replicas answer from memory.
      for (let n = 0; n < 3; n++) t.same(await statuses(), [200, 200, 200], 'before')
      await app.ask(query, variables, owner.token)
      t.same(await statuses(), [403, 403, 403], query)
    }
  }
})

atNight(t, 'a running transfer ends within about a second of the membership', async t => {
  const { app, owner, providerId, within, join, group } = await setUp(t)
  const replica = await app.replica()
  const ann = await join('ann@example.org', 'NONE')
  const groupId = await group({ name: 'Writers', role: 'EDITOR', providerAccess: within('/plans') })
  await app.ask(add, { groupId, userId: ann.id }, owner.token)
  let stop = false
  const slow = new ReadableStream({
    async pull(controller) {
      await sleep(20)
      if (stop) controller.close()
      else controller.enqueue(new Uint8Array(1000))
    },
  })
  const upload = replica.upload(ann.token, providerId, '/plans/slow', slow).then(
    ({ status }) => status,
    () => 'cut',
  )
  await sleep(300)
  const begin = performance.now()
  await app.ask(take, { groupId, userId: ann.id }, owner.token)
  const outcome = await Promise.race([upload, sleep(10_000, 'still running')])
  const ms = Math.round(performance.now() - begin)
  stop = true
  t.match(String(outcome), /^(403|cut)$/)
  t.comment(`ended after ${ms} ms`)
})

t.test('nobody gives a group more than they have', async t => {
  const { app, owner, within, join, group, reason } = await setUp(t)
  const admin = await join('admin@example.org', 'ADMIN')
  const restricted = await join('restricted@example.org', 'ADMIN', within('/team'))
  const editor = await join('editor@example.org', 'EDITOR')
  const groupId = await group({ name: 'Writers', role: 'EDITOR' })
  const calls: [string, object][] = [
    [create, { input: { name: 'x', role: 'VIEWER' } }],
    [update, { input: { id: groupId, role: 'ADMIN' } }],
    [remove, { id: groupId }],
    [add, { groupId, userId: restricted.id }],
    [take, { groupId, userId: restricted.id }],
    ['{ groups { nodes { id } } }', {}],
  ]
  for (const [query, variables] of calls) {
    t.equal(await reason(query, variables, restricted.token), 'PROVIDER_NOT_ALLOWED', query)
    t.equal(await reason(query, variables, editor.token), 'SCOPE_REQUIRED', query)
  }
  const { key } = await app.createKey(owner.token, { name: 'write', scopes: ['write'] })
  t.equal(await reason(add, { groupId, userId: editor.id }, key), 'SCOPE_REQUIRED')
  const owners = { name: 'Owners', role: 'OWNER' }
  t.equal(await reason(create, { input: owners }, admin.token), 'EXCEEDS_OWN_REACH')
  t.equal(await reason(update, { input: { id: groupId, role: 'OWNER' } }, admin.token), 'EXCEEDS_OWN_REACH')
  t.equal(await reason(create, { input: owners }), 'INVALID_INPUT', 'only a member is an owner')
  t.equal(await reason(update, { input: { id: groupId, role: 'OWNER' } }), 'INVALID_INPUT')
  t.equal(
    await reason(add, { groupId, userId: owner.id }, admin.token),
    'EXCEEDS_OWN_REACH',
    'an administrator and an owner',
  )
  t.equal(await reason(add, { groupId, userId: owner.id }), 'OK')
  t.equal(await reason(take, { groupId, userId: owner.id }, admin.token), 'EXCEEDS_OWN_REACH')

  await app.ask(add, { groupId: await group({ name: 'Admins', role: 'ADMIN' }), userId: editor.id }, owner.token)
  t.equal(await reason(create, { input: { name: 'By a group', role: 'ADMIN' } }, editor.token), 'OK')
  const demote = { input: { userId: owner.id, role: 'ADMIN' } }
  t.equal(await reason(updateMember, demote, editor.token), 'EXCEEDS_OWN_REACH')
  const limited = { name: 'Elsewhere', role: 'VIEWER', providerAccess: { restrictions: [{ providerId: owner.id }] } }
  t.equal(await reason(create, { input: limited }), 'NOT_FOUND', 'a provider that does not exist')
})

t.test('an owner by the member alone is the last one', async t => {
  const { app, owner, within, join, group, reason } = await setUp(t)
  const other = await join('other@example.org', 'OWNER', within('/team'))
  const groupId = await group({ name: 'Admins', role: 'ADMIN' })
  for (const userId of [owner.id, other.id]) await app.ask(add, { groupId, userId }, owner.token)
  const demote = { input: { userId: owner.id, role: 'ADMIN' } }
  t.equal(await reason(updateMember, demote, other.token), 'LAST_OWNER', 'an access of a group makes no other owner')
})

atNight(t, 'names, unknown ids and limits', async t => {
  const { app, owner, group, reason } = await setUp(t)
  const id = await group({ name: 'Straße', role: 'VIEWER' })
  t.equal(await reason(create, { input: { name: ' STRASSE', role: 'VIEWER' } }), 'OK')
  t.equal(await reason(create, { input: { name: ' straße ', role: 'VIEWER' } }), 'ALREADY_EXISTS')
  t.equal(await reason(update, { input: { id, name: 'strasse' } }), 'ALREADY_EXISTS')
  t.equal(await reason(update, { input: { id, name: 'STRAßE' } }), 'OK', 'its own name in another case')
  t.equal(await reason(create, { input: { name: '\ufdfa'.repeat(200), role: 'VIEWER' } }), 'INVALID_INPUT')
  t.equal(await reason(create, { input: { name: '', role: 'VIEWER' } }), 'INVALID_INPUT')
  for (const unknown of ['no-id', owner.id]) {
    t.equal(await reason(update, { input: { id: unknown } }), 'NOT_FOUND')
    t.equal(await reason(remove, { id: unknown }), 'NOT_FOUND')
    t.equal(await reason(add, { groupId: unknown, userId: owner.id }), 'NOT_FOUND')
  }
  t.equal(await reason(add, { groupId: id, userId: id }), 'NOT_FOUND')
  t.equal(await reason(take, { groupId: id, userId: owner.id }), 'NOT_FOUND')
  const replica = await app.replica()
  const insert = (count: number, prefix: string) =>
    sql`insert into groups (workspace_id, name, name_key, role, provider_access)
      select id, ${prefix} || n, ${prefix} || n, 'NONE', '{"all": true}' from workspaces, generate_series(1, ${sql.lit(count)}) n`.execute(
      app.db,
    )
  await insert(maxGroups - 4, 'group ')
  const attempts = Array.from({ length: 8 }, (_, n) =>
    (n % 2 ? app : replica).graphql(create, { input: { name: `more ${n}`, role: 'NONE' } }, owner.token),
  )
  const reasons = (await Promise.all(attempts)).map(({ errors }) => errors[0]?.extensions.reason ?? 'OK')
  t.same(reasons.toSorted(), [...Array(2).fill('OK'), ...Array(6).fill('TOO_MANY_GROUPS')])
  const { groups } = await app.ask(
    '{ groups(first: 100) { nodes { id name } pageInfo { hasNextPage } } }',
    {},
    owner.token,
  )
  t.equal(groups.pageInfo.hasNextPage, true)
  const chosen = groups.nodes.slice(0, maxGroupsOfMember)
  for (const { id: groupId } of chosen) await app.ask(add, { groupId, userId: owner.id }, owner.token)
  t.equal(await reason(add, { groupId: groups.nodes.at(-1).id, userId: owner.id }), 'TOO_MANY_GROUPS')
  t.equal(await reason(add, { groupId: chosen[0].id, userId: owner.id }), 'OK', 'they are in it already')
  const { users } = await app.ask(
    'query ($id: ID!) { users(groupId: $id) { nodes { id } } }',
    { id: chosen[0].id },
    owner.token,
  )
  t.same(users.nodes, [{ id: owner.id }])
})

t.test('the audit log says who changed which group and whose membership', async t => {
  const { app, owner, join, group } = await setUp(t)
  const ann = await join('ann@example.org', 'NONE')
  const groupId = await group({ name: 'Writers', role: 'EDITOR' })
  await app.ask(add, { groupId, userId: ann.id }, owner.token)
  await app.ask(take, { groupId, userId: ann.id }, owner.token)
  await app.ask(remove, { id: groupId }, owner.token)
  const events = await app.ask(
    '{ auditEvents(first: 4) { nodes { action result subjectKind subjectId details } } }',
    {},
    owner.token,
  )
  const groupFacts = { email: 'ann@example.org', group: { id: groupId, name: 'Writers' } }
  t.match(events.auditEvents.nodes, [
    { action: 'GROUP_DELETE', result: 'OK', subjectKind: 'GROUP', subjectId: groupId, details: { name: 'Writers' } },
    { action: 'GROUP_MEMBER_REMOVE', subjectKind: 'MEMBER', subjectId: ann.id, details: groupFacts },
    { action: 'GROUP_MEMBER_ADD', subjectKind: 'MEMBER', subjectId: ann.id, details: groupFacts },
    { action: 'GROUP_CREATE', subjectKind: 'GROUP', subjectId: groupId, details: { gives: { role: 'EDITOR' } } },
  ])
})

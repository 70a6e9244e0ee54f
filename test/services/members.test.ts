import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'

const me = '{ me { role providerAccess { all restrictions { basePath } } } }'
const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite expiresAt } }'
const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id role } }'
const remove = 'mutation ($id: ID!) { removeMember(userId: $id) }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token user { role } } }'

t.test('members', async t => {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  let lastOwner = owner
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const join = async (email: string, role: string, providerAccess?: object) => {
    const { createInvite } = await app.ask(invite, { input: { role, providerAccess } }, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }
  const reason = async (query: string, variables: object, token: string) =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason
  const admin = await join('admin@example.org', 'ADMIN')
  const editor = await join('editor@example.org', 'EDITOR', { restrictions: [{ providerId, basePath: '/team' }] })

  await t.test('an invite grants its role and access, once', async t => {
    t.match(await app.ask(me, {}, editor.token), {
      me: { role: 'EDITOR', providerAccess: { all: false, restrictions: [{ basePath: '/team' }] } },
    })
    const { createInvite } = await app.ask(invite, { input: { role: 'VIEWER' } }, owner.token)
    const attempts = await Promise.all(
      [1, 2, 3].map(index =>
        app.graphql(register, { input: { email: `guest${index}@example.org`, password, invite: createInvite.invite } }),
      ),
    )
    t.equal(attempts.filter(({ errors }) => errors.length === 0).length, 1)
    t.match(
      attempts.flatMap(({ errors }) => errors).map(error => error.extensions.reason),
      ['INVALID_INVITE', 'INVALID_INVITE'],
    )
  })

  await t.test('an invite is invalid after it expires or its creator loses the rights it grants', async t => {
    const expired = await app.ask(invite, { input: { role: 'VIEWER' } }, owner.token)
    await app.db
      .updateTable('invites')
      .set({ expires_at: new Date(0) })
      .where('used_at', 'is', null)
      .execute()
    const lateAdmin = await join('late-admin@example.org', 'ADMIN')
    const stale = await app.ask(invite, { input: { role: 'ADMIN' } }, lateAdmin.token)
    await app.ask(update, { input: { userId: lateAdmin.id, role: 'EDITOR' } }, owner.token)
    for (const given of [expired.createInvite.invite, stale.createInvite.invite, 'made up']) {
      const { errors } = await app.graphql(register, {
        input: { email: 'nobody@example.org', password, invite: given },
      })
      t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_INVITE' } }])
    }
    const users = await app.db.selectFrom('users').select('id').where('email_key', '=', 'nobody@example.org').execute()
    t.same(users, [], 'no account was created')
  })

  await t.test('registration can be closed or require an invite', async t => {
    const set = (registration: string) =>
      app.ask(
        'mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { registration } }',
        { input: { registration } },
        owner.token,
      )
    await set('INVITE')
    t.equal(await reason(register, { input: { email: 'x@example.org', password } }, ''), 'REGISTRATION_CLOSED')
    t.ok(await join('invited@example.org', 'VIEWER'))
    const pending = await app.ask(invite, { input: { role: 'VIEWER' } }, owner.token)
    await set('CLOSED')
    const input = { email: 'y@example.org', password, invite: pending.createInvite.invite }
    t.equal(await reason(register, { input }, ''), 'REGISTRATION_CLOSED')
    await set('OPEN')
    t.match(await app.ask(register, { input: { email: 'z@example.org', password } }), {
      register: { user: { role: 'NONE' } },
    })
  })

  await t.test('members cannot change their own role or grant more than they have', async t => {
    t.equal(await reason(update, { input: { userId: owner.id, role: 'ADMIN' } }, owner.token), 'OWN_MEMBERSHIP')
    t.equal(await reason(update, { input: { userId: admin.id, role: 'OWNER' } }, admin.token), 'OWN_MEMBERSHIP')
    t.equal(await reason(update, { input: { userId: editor.id, role: 'OWNER' } }, admin.token), 'EXCEEDS_OWN_REACH')
    t.equal(await reason(update, { input: { userId: owner.id, role: 'VIEWER' } }, admin.token), 'EXCEEDS_OWN_REACH')
    t.equal(await reason(remove, { id: owner.id }, admin.token), 'EXCEEDS_OWN_REACH')
    t.equal(await reason(invite, { input: { role: 'OWNER' } }, admin.token), 'EXCEEDS_OWN_REACH')
    t.equal(await reason(update, { input: { userId: editor.id, role: 'ADMIN' } }, editor.token), 'SCOPE_REQUIRED')
    const limited = await join('limited@example.org', 'ADMIN', { restrictions: [{ providerId, basePath: '/team' }] })
    const { key } = await app.createKey(owner.token, {
      name: 'limited',
      scopes: ['admin'],
      providerAccess: { restrictions: [{ providerId, basePath: '/' }] },
    })
    const narrower = { restrictions: [{ providerId, basePath: '/team/a' }] }
    const settings = 'mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { name } }'
    for (const by of [limited.token, key]) {
      for (const [query, variables] of [
        [invite, { input: { role: 'VIEWER', providerAccess: narrower } }],
        [update, { input: { userId: editor.id, providerAccess: narrower } }],
        [remove, { id: editor.id }],
        [settings, { input: { name: 'renamed' } }],
        ['{ users { nodes { email } } }', {}],
      ] as const)
        t.equal(await reason(query, variables, by), 'PROVIDER_NOT_ALLOWED', query)
    }
  })

  await t.test('a member can have several folders of one provider', async t => {
    const at = (...paths: string[]) => ({ restrictions: paths.map(basePath => ({ providerId, basePath })) })
    for (const path of ['/one/a.txt', '/two/deep/b.txt', '/two-more/c.txt', '/c.txt']) {
      await app.upload(owner.token, providerId, path, path)
    }
    const member = await join('several@example.org', 'EDITOR', at('/two/deep', '/one', '/two/deep/er', '/one'))
    const seen = `{ viewer { providerAccess { restrictions { basePath } } } providers { quota { used }
      root { path } basePaths } }`
    t.match(await app.ask(seen, {}, member.token), {
      viewer: { providerAccess: { restrictions: [{ basePath: '/one' }, { basePath: '/two/deep' }] } },
      providers: [
        {
          quota: null,
          root: { path: '/one' },
          basePaths: ['/one', '/two/deep'],
        },
      ],
    })
    const statusOf = async (path: string, credential: string) =>
      (await app.download(credential, providerId, path)).status
    const { key } = await app.createKey(member.token, { name: 'all', scopes: ['read'] })
    const narrow = { name: 'narrow', scopes: ['read'], providerAccess: at('/two/deep') }
    const { key: narrowKey } = await app.createKey(member.token, narrow)
    const paths = ['/one/a.txt', '/two/deep/b.txt', '/two/deep', '/two', '/two-more/c.txt', '/c.txt', '/']
    const statuses = async (credential: string) => Promise.all(paths.map(path => statusOf(path, credential)))
    t.same(await statuses(member.token), [200, 200, 200, 403, 403, 403, 403])
    t.same(await statuses(key), [200, 200, 200, 403, 403, 403, 403])
    t.same(await statuses(narrowKey), [403, 200, 200, 403, 403, 403, 403])
    const create = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }'
    for (const [wish, expected] of [
      [at('/two/deep', '/one'), 'INVALID_INPUT'],
      [at('/two'), 'EXCEEDS_OWN_REACH'],
    ] as const) {
      const input = { name: 'wide', scopes: ['read'], providerAccess: wish }
      t.equal(await reason(create, { input }, member.token), expected)
    }
    const list = 'query ($id: ID!, $path: String!) { folder(providerId: $id, path: $path) { name } }'
    const { errors } = await app.graphql(list, { id: providerId, path: '/two' }, member.token)
    t.match(errors[0], { message: /only to \/one and \/two\/deep/, extensions: { reason: 'OUTSIDE_BASE_PATH' } })

    const head = await join('head@example.org', 'ADMIN', at('/one', '/two'))
    const narrower = { userId: member.id, providerAccess: at('/two/deep', '/one/inner') }
    t.equal(await reason(update, { input: narrower }, owner.token), undefined)
    t.same(await statuses(key), [403, 200, 200, 403, 403, 403, 403])
    const three = at('/one', '/two', '/three', '/four')
    await app.ask(update, { input: { userId: head.id, providerAccess: three } }, owner.token)
    const refused = await app.graphql(list, { id: providerId, path: '/' }, head.token)
    t.match(refused.errors[0]?.message, 'only to /four, /one, /three and 1 more')
  })

  await t.test('one owner remains when two owners remove each other at once', async t => {
    t.equal(await reason(remove, { id: owner.id }, owner.token), 'LAST_OWNER')
    const second = await join('second-owner@example.org', 'OWNER')
    const restricted = { restrictions: [{ providerId, basePath: '/team' }] }
    const restrict = { input: { userId: second.id, providerAccess: restricted } }
    t.equal(await reason(update, restrict, owner.token), undefined)
    t.equal(await reason(remove, { id: owner.id }, owner.token), 'LAST_OWNER', 'the other has restrictions')
    const { updateMember } = await app.ask(
      update,
      { input: { userId: second.id, providerAccess: { all: true } } },
      owner.token,
    )
    t.equal(updateMember.id, second.id)
    await Promise.all([
      app.graphql(remove, { id: second.id }, owner.token),
      app.graphql(remove, { id: owner.id }, second.token),
    ])
    const owners = await app.db.selectFrom('members').selectAll().where('role', '=', 'OWNER').execute()
    t.equal(owners.length, 1)
    lastOwner = owners[0]?.user_id === owner.id ? owner : second
  })

  await t.test('a removed member and their keys lose access at once, and the person can register again', async t => {
    const { token } = lastOwner
    const { createInvite } = await app.ask(invite, { input: { role: 'EDITOR' } }, token)
    const guest = await app.register('guest@example.org', { invite: createInvite.invite })
    const { key } = await app.createKey(guest.token, { name: 'k', scopes: ['read'] })
    t.equal((await app.graphql(me, {}, key)).status, 200)
    t.match(await app.ask(remove, { id: guest.id }, token), { removeMember: true })
    for (const credential of [guest.token, key]) t.equal((await app.graphql(me, {}, credential)).status, 401)
    t.ok(await app.register('guest@example.org'))
  })

  await t.test('members are listed in pages', async t => {
    const query =
      'query ($after: String) { users(first: 3, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }'
    const seen: string[] = []
    const { token } = lastOwner
    for (let after: string | null = null, more = true; more; ) {
      const { users } = await app.ask(query, { after }, token)
      seen.push(...users.nodes.map((node: { id: string }) => node.id))
      after = users.pageInfo.endCursor
      more = users.pageInfo.hasNextPage
    }
    const all = await app.db.selectFrom('members').select('user_id').execute()
    t.same(seen.toSorted(), all.map(row => row.user_id).toSorted())
    t.equal(await reason('{ users(after: "made up") { nodes { id } } }', {}, token), 'INVALID_CURSOR')
  })
})

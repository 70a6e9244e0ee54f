import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'

t.test('nested fields reveal only what the credential may see', async t => {
  const app = await startApp(t)
  const { token, id: ownerId } = await app.register('owner@example.org')
  // Connect them in sequence, because they are listed in this order.
  const connect = (name: string) => app.connectProvider(token, 'memory', { maxBytes: 1_000_000 }, name)
  const [open, shared, hidden] = [await connect('open'), await connect('shared'), await connect('hidden')]
  for (const path of ['/team/a.txt', '/team/sub/b.txt', '/secret.txt']) {
    for (const id of [open, shared, hidden]) await app.upload(token, id ?? '', path, 'text')
  }
  const restrictions = [{ providerId: open }, { providerId: shared, basePath: '/team' }]
  const key = (scope: string) =>
    app.createKey(token, { name: scope, scopes: [scope], providerAccess: { restrictions } }).then(made => made.key)
  const [reader, admin] = [await key('read'), await key('admin')]

  await t.test('root is the highest folder that the credential may see', async t => {
    const query = '{ providers { root { path name provider { name } entries { nodes { path } } } } }'
    const nodes = (...paths: string[]) => ({ nodes: paths.map(path => ({ path })) })
    t.same((await app.ask(query, {}, reader)).providers, [
      { root: { path: '/', name: '', provider: { name: 'open' }, entries: nodes('/secret.txt', '/team') } },
      {
        root: { path: '/team', name: 'team', provider: { name: 'shared' }, entries: nodes('/team/a.txt', '/team/sub') },
      },
    ])
  })

  await t.test('only those who may change a configuration see it', async t => {
    const configs = async (credential: string) =>
      (await app.ask('{ providers { name config } }', {}, credential)).providers
    const whole = { maxBytes: 1_000_000 }
    t.same(await configs(reader), [
      { name: 'open', config: {} },
      { name: 'shared', config: {} },
    ])
    t.same(await configs(admin), [
      { name: 'open', config: whole },
      { name: 'shared', config: {} },
    ])
    t.equal((await configs(token)).length, 3)
  })

  await t.test('restrictions name only existing providers that the viewer may see', async t => {
    const all = [open, shared, hidden].map(providerId => ({ providerId, basePath: '/team' }))
    const wide = await app.createKey(token, { name: 'wide', scopes: ['read'], providerAccess: { restrictions: all } })
    const query =
      'query ($id: ID!) { apiKey(id: $id) { providerAccess { all restrictions { basePath provider { name } } } } }'
    const names = async () =>
      (await app.ask(query, { id: wide.id }, token)).apiKey.providerAccess.restrictions.map(
        (r: { provider: { name: string } }) => r.provider.name,
      )
    t.same((await names()).sort(), ['hidden', 'open', 'shared'])
    const own = await app.ask(
      '{ viewer { apiKey { providerAccess { restrictions { provider { name } } } } } me { providerAccess { all restrictions { basePath } } } }',
      {},
      reader,
    )
    t.equal(own.viewer.apiKey.providerAccess.restrictions.length, 2)
    t.same(own.me.providerAccess, { all: true, restrictions: [] })
    await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: hidden }, token)
    t.same((await names()).sort(), ['open', 'shared'])
  })

  await t.test('a member without a role sees only their own account', async t => {
    const nobody = await app.register('nobody@example.org')
    t.match(
      await app.ask(
        '{ me { email role providerAccess { all restrictions { basePath } } } viewer { scopes apiKey { id } workspace { id name } } apiKeys { nodes { id } } }',
        {},
        nobody.token,
      ),
      {
        me: { email: 'nobody@example.org', role: 'NONE' },
        viewer: { scopes: [], apiKey: null },
        apiKeys: { nodes: [] },
      },
    )
    for (const query of [
      '{ providers { id } }',
      '{ providerTypes { type } }',
      '{ users { nodes { id } } }',
      `{ apiKeys(ofUser: "${ownerId}") { nodes { id } } }`,
    ]) {
      t.match(
        (await app.graphql(query, {}, nobody.token)).errors,
        [{ extensions: { reason: 'SCOPE_REQUIRED' } }],
        query,
      )
    }
  })

  await t.test('login returns the access of the member without a credential in the request', async t => {
    const { createInvite } = await app.ask(
      'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
      { input: { role: 'VIEWER', providerAccess: { restrictions: [{ providerId: shared, basePath: '/team' }] } } },
      token,
    )
    await app.register('viewer@example.org', { invite: createInvite.invite })
    const login = (rest: string) =>
      app.graphql(
        `mutation { login(input: { email: "viewer@example.org", password: "${password}" }) { user { email providerAccess { all restrictions { basePath provider { name ${rest} } } } } } }`,
      )
    t.match((await login('config')).data.login.user.providerAccess, {
      all: false,
      restrictions: [{ basePath: '/team', provider: { name: 'shared', config: {} } }],
    })
    t.match((await login('root { id }')).errors, [{ extensions: { reason: 'CREDENTIAL_REQUIRED' } }])
  })

  await t.test('login does not change the credential of the rest of the document', async t => {
    const { data, errors } = await app.graphql(
      `mutation { login(input: { email: "owner@example.org", password: "${password}" }) { user { email } } updateWorkspace(input: { name: "Taken" }) { name } }`,
      {},
      reader,
    )
    t.equal(data, null)
    t.match(errors, [{ path: ['updateWorkspace'], extensions: { reason: 'SCOPE_REQUIRED' } }])
  })

  await t.test('a provider whose adapter is no longer installed is still listed', async t => {
    await app.db
      .updateTable('providers')
      .set({ type: 'gone' })
      .where('id', '=', open ?? '')
      .execute()
    const { provider } = await app.ask(
      'query ($id: ID!) { provider(id: $id) { name type { type title configSchema needsAuthorization builtIn } capabilities { serverSideCopy } } }',
      { id: open },
      token,
    )
    t.match(provider, {
      name: 'open',
      type: { type: 'gone', title: 'gone', configSchema: {}, needsAuthorization: false, builtIn: false },
      capabilities: { serverSideCopy: false },
    })
  })
})

t.test('mutations run in order, and each sees the changes before it', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'memory', {}, 'before')
  const input = (path: string) => `input: { providerId: "${id}", path: "${path}" }`
  const data = await app.ask(
    `mutation {
      a: createFolder(${input('/a')}) { provider { name } }
      updateProvider(input: { id: "${id}", name: "after" }) { name }
      b: createFolder(${input('/b')}) { provider { name } }
    }`,
    {},
    token,
  )
  t.same(data, {
    a: { provider: { name: 'before' } },
    updateProvider: { name: 'after' },
    b: { provider: { name: 'after' } },
  })
  const { data: none, errors } = await app.graphql(
    `mutation { a: createFolder(${input('/a')}) { id } c: createFolder(${input('/c')}) { id } }`,
    {},
    token,
  )
  t.equal(none, null)
  t.match(errors, [{ path: ['a'], extensions: { reason: 'ALREADY_EXISTS' } }])
  t.match(
    (await app.graphql(`{ folder(providerId: "${id}", path: "/c") { id } }`, {}, token)).errors,
    [{ extensions: { reason: 'NOT_FOUND' } }],
    'a failure stops the mutations after it',
  )
})

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

const list =
  'query ($inactive: Boolean) { apiKeys(includeInactive: $inactive) { nodes { id name displayPrefix scopes state lastUsedAt expiresAt revokedAt providerAccess { all restrictions { basePath provider { id } } } } } }'
const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id state revokedAt } }'
const create =
  'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id state expiresAt } } }'

t.test('API keys', async t => {
  const queries: string[] = []
  const app = await startApp(t, { onQuery: query => queries.push(query.sql) })
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const reason = async (query: string, variables: object, token: string) =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason

  await t.test('a key has the documented format and is shown once', async t => {
    const { key, id } = await app.createKey(owner.token, { name: 'backup', scopes: ['write'] })
    t.match(key, /^stw_[0-9a-f]{40}$/)
    const answer = await app.graphql(list, {}, owner.token)
    const listed = answer.data.apiKeys.nodes.find((one: { id: string }) => one.id === id)
    t.match(listed, {
      name: 'backup',
      displayPrefix: key.slice(0, 12),
      scopes: ['write'],
      state: 'active',
      lastUsedAt: null,
    })
    t.notOk(JSON.stringify(answer).includes(key))
    const row = await app.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    t.notOk(JSON.stringify(row).includes(key.slice(12)), 'not in the database')
    t.notOk(app.logged().includes(key.slice(12)), 'not in the log')
  })

  await t.test('a key with invalid input is not created', async t => {
    const past = new Date(Date.now() - 1000).toISOString()
    const inputs = [
      { name: '', scopes: ['read'] },
      { name: ' ', scopes: ['read'] },
      { name: 'x'.repeat(201), scopes: ['read'] },
      { name: 'x', scopes: [] },
      { name: 'x', scopes: ['read'], expiresAt: past },
      { name: 'x', scopes: ['read'], providerAccess: { all: false } },
      { name: 'x', scopes: ['read'], providerAccess: { restrictions: [] } },
      { name: 'x', scopes: ['read'], providerAccess: { all: true, restrictions: [{ providerId }] } },
      {
        name: 'x',
        scopes: ['read'],
        providerAccess: { restrictions: [{ providerId }, { providerId, basePath: '/a' }] },
      },
    ]
    for (const input of inputs)
      t.equal(await reason(create, { input }, owner.token), 'INVALID_INPUT', JSON.stringify(input))
    const restricted = (restriction: object) => ({
      input: { name: 'x', scopes: ['read'], providerAccess: { restrictions: [restriction] } },
    })
    t.equal(await reason(create, restricted({ providerId, basePath: 'a' }), owner.token), 'INVALID_PATH')
    t.equal(await reason(create, restricted({ providerId, basePath: '/a/../b' }), owner.token), 'INVALID_PATH')
    t.equal(await reason(create, restricted({ providerId: crypto.randomUUID() }), owner.token), 'NOT_FOUND')
    t.equal(await reason(create, restricted({ providerId: 'no id' }), owner.token), 'NOT_FOUND')
  })

  await t.test('a revoked key is refused at once, on every replica, forever', async t => {
    const replica = await app.replica()
    const { key, id } = await app.createKey(owner.token, { name: 'short-lived', scopes: ['admin'] })
    for (const server of [app, replica]) t.match(await server.ask('{ me { id } }', {}, key), { me: { id: owner.id } })
    const { revokeApiKey } = await app.ask(revoke, { id }, owner.token)
    t.match(revokeApiKey, { state: 'revoked' })
    for (const server of [app, replica]) {
      for (const answer of [
        await server.graphql('{ me { id } }', {}, key),
        await server.graphql('{ __typename }', {}, key),
      ]) {
        t.equal(answer.status, 401)
        t.match(answer.errors, [{ extensions: { code: 'UNAUTHENTICATED', reason: 'KEY_REVOKED' } }])
      }
      t.equal((await server.download(key, providerId, '/x')).status, 401)
      t.equal((await server.upload(key, providerId, '/x', 'x')).status, 401)
    }
    t.same((await app.ask(revoke, { id }, owner.token)).revokeApiKey, revokeApiKey, 'revoking it again changes nothing')
  })

  await t.test('an expired key is refused at once and forever', async t => {
    const expiresAt = new Date(Date.now() + 3000).toISOString()
    const { key, id } = await app.createKey(owner.token, { name: 'brief', scopes: ['read'], expiresAt })
    t.equal((await app.graphql('{ me { id } }', {}, key)).status, 200)
    await sleep(new Date(expiresAt).getTime() - Date.now() + 5)
    const { status, errors } = await app.graphql('{ me { id } }', {}, key)
    t.equal(status, 401)
    t.match(errors, [{ extensions: { code: 'UNAUTHENTICATED', reason: 'KEY_EXPIRED' } }])
    const states = async (inactive: boolean) =>
      (await app.ask(list, { inactive }, owner.token)).apiKeys.nodes.filter((one: { id: string }) => one.id === id)
    t.match(await states(true), [{ state: 'expired' }])
    t.same(await states(false), [])
    t.match(await app.ask(revoke, { id }, owner.token), { revokeApiKey: { state: 'revoked' } })
  })

  await atNight(t, 'lastUsedAt is kept to the minute, and a thousand requests write at most once', async t => {
    const { key, id } = await app.createKey(owner.token, { name: 'busy', scopes: ['read'] })
    queries.length = 0
    const before = Date.now()
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 50 }, () => app.ask('{ me { id } }', {}, key)))
    }
    const writes = () => queries.filter(query => /^\s*(insert|update|delete)/i.test(query))
    await until(() => writes().length > 0)
    await sleep(700)
    t.equal(writes().length, 1, writes().join('\n'))
    t.ok(queries.length < 700, `lookups that arrive together share a query: ${queries.length} for 1,000 requests`)
    const row = await app.db
      .selectFrom('api_keys')
      .select('last_used_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    t.ok(row.last_used_at && Math.abs(row.last_used_at.getTime() - before) < 60_000)
  })

  await t.test('"all providers" includes those connected later; a list does not', async t => {
    const all = await app.createKey(owner.token, { name: 'all', scopes: ['read'] })
    const one = await app.createKey(owner.token, {
      name: 'one',
      scopes: ['read'],
      providerAccess: { restrictions: [{ providerId }] },
    })
    const later = await app.connectProvider(owner.token, 'memory', {}, 'later')
    const ids = async (key: string) =>
      (await app.ask('{ providers { id } }', {}, key)).providers.map((p: { id: string }) => p.id)
    t.same(await ids(all.key), [providerId, later])
    t.same(await ids(one.key), [providerId])
    await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: later }, owner.token)
  })

  await t.test('a key loses all access when its only provider is disconnected', async t => {
    const gone = await app.connectProvider(owner.token, 'memory', {}, 'gone')
    const { key } = await app.createKey(owner.token, {
      name: 'k',
      scopes: ['admin'],
      providerAccess: { restrictions: [{ providerId: gone }] },
    })
    await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: gone }, owner.token)
    t.same((await app.ask('{ providers { id } }', {}, key)).providers, [])
    t.equal(
      await reason('query ($id: ID!) { provider(id: $id) { id } }', { id: providerId }, key),
      'PROVIDER_NOT_ALLOWED',
    )
  })

  await t.test('a key cannot create keys or invites with more rights than it has', async t => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const maker = await app.createKey(owner.token, { name: 'maker', scopes: ['admin'], expiresAt })
    t.equal(await reason(create, { input: { name: 'x', scopes: ['read'] } }, maker.key), 'EXCEEDS_OWN_REACH')
    const later = new Date(Date.now() + 7_200_000).toISOString()
    t.equal(
      await reason(create, { input: { name: 'x', scopes: ['read'], expiresAt: later } }, maker.key),
      'EXCEEDS_OWN_REACH',
    )
    t.equal(await reason(create, { input: { name: 'x', scopes: ['admin'], expiresAt } }, maker.key), undefined)
    for (const input of [
      { name: 'w', scopes: ['write'] },
      { name: 'r', scopes: ['admin'], providerAccess: { restrictions: [{ providerId }] } },
    ]) {
      const { key } = await app.createKey(owner.token, input)
      t.equal(await reason(create, { input: { name: 'x', scopes: ['read'] } }, key), 'SESSION_REQUIRED')
      t.equal(await reason(list, {}, key), 'SESSION_REQUIRED')
    }
  })

  await t.test('a key loses rights together with its owner', async t => {
    const { createInvite } = await app.ask(
      'mutation { createInvite(input: { role: ADMIN }) { invite } }',
      {},
      owner.token,
    )
    const member = await app.register('member@example.org', { invite: createInvite.invite })
    const { key } = await app.createKey(member.token, { name: 'k', scopes: ['admin'] })
    const viewer = async () => (await app.ask('{ viewer { kind scopes providerAccess { all } } }', {}, key)).viewer
    t.same(await viewer(), { kind: 'API_KEY', scopes: ['read', 'write', 'admin'], providerAccess: { all: true } })
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    const providerAccess = { restrictions: [{ providerId, basePath: '/team' }] }
    await app.ask(update, { input: { userId: member.id, role: 'VIEWER', providerAccess } }, owner.token)
    t.same(await viewer(), { kind: 'API_KEY', scopes: ['read'], providerAccess: { all: false } })
    await app.ask(update, { input: { userId: member.id, role: 'NONE' } }, owner.token)
    t.same(await viewer(), { kind: 'API_KEY', scopes: [], providerAccess: { all: false } })
  })
})

const made = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }'
const page = `query ($first: Int, $after: String, $inactive: Boolean) {
  apiKeys(first: $first, after: $after, includeInactive: $inactive) { nodes { id } pageInfo { endCursor hasNextPage } } }`

atNight(
  t,
  '100 of 150 keys that are created at once on two replicas succeed, and revoking one allows another',
  async t => {
    const app = await startApp(t)
    const replica = await app.replica()
    const { token } = await app.register('owner@example.org')
    const make = async (n: number): Promise<string> => {
      const input = { name: `key ${n}`, scopes: ['read'] }
      const { errors } = await (n % 2 ? app : replica).graphql(made, { input }, token)
      return errors[0]?.extensions.reason ?? 'made'
    }
    const answers = await Promise.all(Array.from({ length: 150 }, (_, n) => make(n)))
    const count = (answer: string) => answers.filter(each => each === answer).length
    t.same([count('made'), count('TOO_MANY_KEYS')], [100, 50])
    const { apiKeys } = await app.ask('{ apiKeys(first: 1) { nodes { id } } }', {}, token)
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: apiKeys.nodes[0].id }, token)
    t.same([await make(0), await make(1)], ['made', 'TOO_MANY_KEYS'])
    const other = await app.ask('mutation { createInvite(input: { role: EDITOR }) { invite } }', {}, token)
    const member = await app.register('other@example.org', other.createInvite)
    t.same((await app.graphql(made, { input: { name: 'k', scopes: ['read'] } }, member.token)).errors, [])

    t.test('keys are listed in pages', async t => {
      const ids: string[] = []
      let after: string | null = null
      do {
        const { apiKeys } = await app.ask(page, { first: 30, after, inactive: true }, token)
        ids.push(...apiKeys.nodes.map(({ id }: { id: string }) => id))
        t.ok(apiKeys.nodes.length <= 30)
        after = apiKeys.pageInfo.hasNextPage ? apiKeys.pageInfo.endCursor : null
      } while (after !== null)
      t.equal(ids.length, 101)
      t.equal(new Set(ids).size, 101, 'each once')
      const active = await app.ask(page, { first: 100, inactive: false }, token)
      t.equal(active.apiKeys.nodes.length, 100)
      t.equal(active.apiKeys.pageInfo.hasNextPage, false)
      t.match((await app.graphql(page, { first: 101 }, token)).errors, [{ extensions: { reason: 'INVALID_INPUT' } }])
      t.match((await app.graphql(page, { after: 'x' }, token)).errors, [{ extensions: { reason: 'INVALID_CURSOR' } }])
    })
  },
)

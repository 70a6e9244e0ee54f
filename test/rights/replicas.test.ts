/** Rights in memory: requests ask no database, and a change of rights that has returned holds on every replica. */
import t from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'

const me = '{ me { id } }'

/** Starts replicas on one database that count the queries of each. */
async function startReplicas(t: Parameters<typeof startApp>[0], count: number) {
  const queries = Array.from({ length: count }, (): string[] => [])
  const first = await startApp(t, { onQuery: ({ sql }) => queries[0]?.push(sql) })
  const others = Array.from({ length: count - 1 }, (_, index) =>
    first.replica({ onQuery: ({ sql }) => queries[index + 1]?.push(sql) }),
  )
  return { replicas: [first, ...(await Promise.all(others))] as [TestApp, ...TestApp[]], queries }
}

/** Sends a request until it asks the database no more. */
async function warm(replicas: readonly TestApp[], queries: string[][], send: (replica: TestApp) => Promise<unknown>) {
  for (const [index, replica] of replicas.entries()) {
    await until(async () => {
      const asked = queries[index] ?? []
      asked.length = 0
      await send(replica)
      return !asked.some(sql => sql.includes('rights_counter'))
    })
  }
}

t.test('a request whose rights are in memory asks the database nothing', async t => {
  const { replicas, queries } = await startReplicas(t, 1)
  const [app] = replicas
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const { key } = await app.createKey(token, { name: 'key', scopes: ['read'] })
  await app.upload(token, providerId, '/file', 'content')
  const requests: Record<string, () => Promise<unknown>> = {
    'a query with a session': () => app.ask(me, {}, token),
    'a query with an API key': () => app.ask(me, {}, key),
    'a download with an API key': async () => (await app.download(key, providerId, '/file')).text(),
  }
  for (const [name, send] of Object.entries(requests)) {
    await t.resolves(warm(replicas, queries, send), name)
  }
})

t.test('a change of rights that has returned holds on every replica', async t => {
  const { replicas, queries } = await startReplicas(t, 3)
  const [app] = replicas
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  await app.upload(owner.token, providerId, '/file', 'content')
  const member = await app.register('member@example.org')
  const setRole = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { role } }'
  const give = (role: string) => app.ask(setRole, { input: { userId: member.id, role } }, owner.token)
  await give('EDITOR')
  const statusOf = async (replica: TestApp, token: string) =>
    (await replica.download(token, providerId, '/file')).status
  const newKey = async () => app.createKey(owner.token, { name: 'key', scopes: ['read'] })

  const changes: Record<string, (round: number) => Promise<{ credential: string; change: () => Promise<unknown> }>> = {
    async 'a revoked API key'() {
      const { key, id } = await newKey()
      const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id } }'
      return { credential: key, change: () => app.ask(revoke, { id }, owner.token) }
    },
    async 'a session that ends'() {
      const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
      const input = { email: 'member@example.org', password: 'correct horse battery staple' }
      const { login: session } = await app.ask(login, { input })
      return { credential: session.token, change: () => app.ask('mutation { logout }', {}, session.token) }
    },
    async 'a lower role'() {
      await give('EDITOR')
      return { credential: member.token, change: () => give('NONE') }
    },
  }
  for (const [name, prepare] of Object.entries(changes)) {
    for (let round = 0; round < extent({ gate: 1, nightly: 3 }); round++) {
      const { credential, change } = await prepare(round)
      await warm(replicas, queries, replica => statusOf(replica, credential))
      for (const replica of replicas) t.equal(await statusOf(replica, credential), 200, `${name}: before`)
      await change()
      const after = await Promise.all(replicas.map(replica => statusOf(replica, credential)))
      t.notOk(after.includes(200), `${name}: ${after.join(', ')}`)
    }
  }
})

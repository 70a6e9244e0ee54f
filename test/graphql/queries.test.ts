import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { extent } from '../support/extent.ts'

const access = 'providerAccess { all restrictions { basePath provider { id name } } }'

/** Queries of lists. The test counts the database queries of each with short and with long lists. */
const documents: Record<string, string> = {
  'own keys': `{ apiKeys { nodes { id state scopes ${access} owner { email role ${access} } } } }`,
  "another member's keys": `query ($user: ID!) { apiKeys(ofUser: $user) { nodes { id ${access} owner { email ${access} } } } }`,
  members: `{ users(first: 200) { nodes { email role ${access} } edges { cursor node { id } } pageInfo { endCursor } } }`,
  invites: `{ invites { role ${access} createdBy { email ${access} } } }`,
  providers:
    '{ providers { id name status config createdAt type { title } capabilities { emptyFolders } quota { used } root { id path provider { name } } } }',
  entries:
    'query ($provider: ID!) { folder(providerId: $provider) { entries { nodes { id provider { id name type { title } } ... on File { size downloadUrl } } } } }',
  'several lists': `{ a: apiKeys { nodes { ${access} } } b: apiKeys { nodes { ${access} } } viewer { ${access} apiKey { id } workspace { name } } }`,
}

t.test('the number of database queries does not depend on the length of a list', async t => {
  let queries = 0
  // Without workers, the server itself asks for hardly anything.
  const app = await startApp(t, { onQuery: () => queries++, settings: { workers: 0 } })
  const { token } = await app.register('owner@example.org')
  const provider = await app.connectProvider(token, 'memory', {})
  const openInvite = async (index: number): Promise<string> => {
    const { createInvite } = await app.ask(
      'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
      {
        input: { role: 'EDITOR', providerAccess: { restrictions: [{ providerId: provider, basePath: `/${index}` }] } },
      },
      token,
    )
    return createInvite.invite
  }
  const invite = async (index: number) => {
    const made = await openInvite(index)
    return app.register(`member-${index}@example.org`, { invite: made, password })
  }
  const other = await invite(0)
  let size = 0
  const grow = async (to: number) => {
    for (; size < to; size++) {
      const id = await app.connectProvider(token, 'memory', {}, `provider ${size}`)
      const restrictions = [{ providerId: id }, { providerId: provider, basePath: `/${size}` }]
      await app.createKey(token, { name: `key ${size}`, scopes: ['read'], providerAccess: { restrictions } })
      const own = { restrictions: [{ providerId: provider, basePath: '/0' }] }
      await app.createKey(other.token, { name: `key ${size}`, scopes: ['read'], providerAccess: own })
      await app.upload(token, provider, `/file-${size}`, 'x')
      if (size % 4 === 0) await invite(size + 1)
      await openInvite(size)
    }
  }
  const count = async (document: string): Promise<number> => {
    // The first request causes one-off queries, such as those that open a provider.
    await app.ask(document, { user: other.id, provider }, token)
    const counts: number[] = []
    for (let round = 0; round < 5; round++) {
      queries = 0
      await app.ask(document, { user: other.id, provider }, token)
      counts.push(queries)
    }
    // A count may include queries of the server itself, such as a sweep.
    return Math.min(...counts)
  }
  await grow(1)
  const small = new Map<string, number>()
  for (const [what, document] of Object.entries(documents)) small.set(what, await count(document))
  await grow(extent({ gate: 8, nightly: 24 }))
  for (const [what, document] of Object.entries(documents)) {
    const few = small.get(what) ?? 0
    const many = await count(document)
    // A count of short lists may include queries of the server itself, if it was busy in each round.
    t.ok(many <= few, `${what}: ${many} queries for long lists, ${few} for short ones`)
    t.ok(many <= 5, `${what}: ${many} queries`)
  }
  t.equal(await count('{ me { id email role } }'), 0, 'the rights are in memory')
})

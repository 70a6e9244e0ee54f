/** A request that has waited acts only if its credential is still allowed to. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, apiVersion } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { eventually } from './socket.ts'
import { metadataHeader, tus, tusPath } from './tus.ts'

/** Milliseconds. A decision about rights stays valid for one second. */
const pastRecheck = 1200

/** Makes all calls wait while it is closed. */
class Gate {
  #open = Promise.withResolvers<void>()
  waiting = 0
  isClosed = false

  close(): void {
    this.#open = Promise.withResolvers()
    this.isClosed = true
    this.waiting = 0
  }

  open(): void {
    this.isClosed = false
    this.#open.resolve()
  }

  async pass(): Promise<void> {
    if (!this.isClosed) return
    this.waiting += 1
    await this.#open.promise
  }
}

function gatedAdapter(gate: Gate): AdapterDefinition {
  return {
    type: 'gated',
    apiVersion,
    title: 'Gated',
    configSchema: { type: 'object', properties: {} },
    async open(_config, host) {
      const provider = await memoryAdapter.open({ maxBytes: 1_000_000 }, host)
      const { list, mkdir, stat } = provider
      return Object.assign(provider, {
        list: (...given: Parameters<typeof list>) => gate.pass().then(() => list.apply(provider, given)),
        mkdir: (...given: Parameters<typeof mkdir>) => gate.pass().then(() => mkdir.apply(provider, given)),
        stat: (...given: Parameters<typeof stat>) => gate.pass().then(() => stat.apply(provider, given)),
      })
    },
  }
}

const updateMember = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id role } }'

async function setUp(t: Test) {
  const gate = new Gate()
  const app = await startApp(t, {
    adapters: folder => [...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }), gatedAdapter(gate)],
  })
  const owner = await app.register('owner@example.org')
  const gated = await app.connectProvider(owner.token, 'gated', {})
  const local = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const assign = (userId: string, role: string) =>
    app.ask(updateMember, { input: { userId, role, providerAccess: { all: true } } }, owner.token)
  let people = 0
  const person = async (role: string) => {
    people += 1
    const made = await app.register(`person-${people}@example.org`)
    if (role !== 'NONE') await assign(made.id, role)
    return made
  }
  /** Starts a request, makes `change` while the request waits at the gate, and opens the gate. */
  async function late<T>(begin: () => Promise<T>, change: () => Promise<unknown>): Promise<T> {
    gate.close()
    const begun = begin()
    try {
      await eventually(() => assert.ok(gate.waiting > 0))
      await sleep(pastRecheck)
      await change()
    } finally {
      gate.open()
    }
    return await begun
  }
  const names = async (providerId: string) => {
    const query = 'query ($id: ID!) { folder(providerId: $id, path: "/") { entries { nodes { name } } } }'
    const { folder } = await app.ask(query, { id: providerId }, owner.token)
    return folder.entries.nodes.map(({ name }: { name: string }) => name)
  }
  return { app, gate, owner, gated, local, assign, person, late, names }
}

t.test('a delayed step is authorized again', async t => {
  const { app, owner, gated, local, assign, person, late, names } = await setUp(t)
  const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { __typename } }'
  const outcomeOf = ({ status, errors }: { status: number; errors: { extensions: { reason: string } }[] }) =>
    `${status} ${errors[0]?.extensions.reason ?? 'yes'}`
  let steps = 0
  const slowStep = () => {
    steps += 1
    return `slow: createFolder(input: { providerId: "${gated}", path: "/slow-${steps}" }) { path }`
  }

  t.test('a former administrator assigns no role', async t => {
    const [admin, friend] = [await person('ADMIN'), await person('NONE')]
    const document = `mutation { ${slowStep()} updateMember(input: { userId: "${friend.id}", role: ADMIN }) { role } }`
    const response = await late(
      () => app.graphql(document, {}, admin.token),
      () => assign(admin.id, 'EDITOR'),
    )
    t.equal(outcomeOf(response), '200 EXCEEDS_OWN_REACH')
    const { users } = await app.ask('{ users(first: 100) { nodes { id role } } }', {}, owner.token)
    t.match(
      users.nodes.filter(({ id }: { id: string }) => id === friend.id),
      [{ role: 'NONE' }],
    )
  })

  t.test('a revoked key creates nothing, here or in a back end', async t => {
    for (const step of [
      `createFolder(input: { providerId: "${local}", path: "/made" }) { path }`,
      'createApiKey(input: { name: "made", scopes: [admin] }) { key }',
    ]) {
      const { key, id } = await app.createKey(owner.token, { name: 'k', scopes: ['admin'] })
      const response = await late(
        () => app.graphql(`mutation { ${slowStep()} ${step} }`, {}, key),
        () => app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner.token),
      )
      t.equal(outcomeOf(response), '401 KEY_REVOKED', step)
    }
    t.same(await names(local), [])
    const { apiKeys } = await app.ask('{ apiKeys { nodes { name } } }', {}, owner.token)
    t.notOk(apiKeys.nodes.some(({ name }: { name: string }) => name === 'made'))
  })

  await atNight(t, 'a mutation whose first lookup was slow changes nothing', async t => {
    t.equal((await app.upload(owner.token, gated, '/file', 'x')).status, 201)
    const cases: Record<string, (token: string) => Promise<string>> = {
      delete: async token =>
        outcomeOf(await app.graphql(remove, { input: { providerId: gated, path: '/file' } }, token)),
      upload: async token => {
        // Only an upload with RENAME looks first.
        const response = await app.upload(token, gated, '/new', 'x', '&conflict=rename')
        const { errors } = (await response.json()) as { errors: { extensions: { reason: string } }[] }
        return outcomeOf({ status: response.status, errors: errors ?? [] })
      },
      copy: async token => {
        const input = { providerId: gated, path: '/file', toProviderId: local, toPath: '/copied' }
        return outcomeOf(
          await app.graphql('mutation ($input: CopyInput!) { copy(input: $input) { path } }', { input }, token),
        )
      },
      connect: async token => {
        const connect =
          'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
        return outcomeOf(await app.graphql(connect, { input: { type: 'gated', name: 'late', config: {} } }, token))
      },
    }
    for (const [name, begin] of Object.entries(cases)) {
      const admin = await person('ADMIN')
      const response = await late(
        () => begin(admin.token),
        () => app.ask('mutation { logout }', {}, admin.token),
      )
      t.equal(response, '401 SESSION_ENDED', name)
    }
    t.match(await names(gated), [/^file$/, /^slow/, /^slow/, /^slow/])
    t.same(await names(local), [])
    const { providers } = await app.ask('{ providers { name } }', {}, owner.token)
    t.notOk(providers.some(({ name }: { name: string }) => name === 'late'))
  })

  await atNight(t, 'a running copy completes while the database cannot be asked', async t => {
    await app.upload(owner.token, gated, '/many/one', 'one')
    const input = { providerId: gated, path: '/many/one', toProviderId: local, toPath: '/many/one' }
    const copy = 'mutation ($input: CopyInput!) { copy(input: $input) { path } }'
    const response = await late(
      () => app.graphql(copy, { input }, owner.token),
      () => sql`alter table sessions rename to sessions_away`.execute(app.db),
    )
    await sql`alter table sessions_away rename to sessions`.execute(app.db)
    t.equal(outcomeOf(response), '200 yes')
    t.equal(await (await app.download(owner.token, local, '/many/one')).text(), 'one')
    await app.graphql(
      'mutation ($input: DeleteInput!) { delete(input: $input) { __typename } }',
      {
        input: { providerId: local, path: '/many', recursive: true },
      },
      owner.token,
    )
  })

  t.test('an upload that waited for another request stores nothing', async t => {
    const { key, id } = await app.createKey(owner.token, { name: 'k', scopes: ['write'] })
    const target = { url: app.url, token: key }
    const made = await tus(target, 'POST', tusPath, {
      'upload-length': '1',
      'upload-metadata': metadataHeader({ providerId: local, path: '/waited' }),
    })
    const hold = (until: 'infinity' | '-infinity') =>
      sql`update uploads set lease_id = gen_random_uuid(), lease_until = ${until}`.execute(app.db)
    await hold('infinity')
    const patching = tus(
      target,
      'PATCH',
      made.headers.get('location') ?? '',
      { 'upload-offset': '0' },
      Buffer.from('x'),
    )
    await sleep(pastRecheck)
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner.token)
    await hold('-infinity')
    t.equal((await patching).status, 401)
    t.same(await names(local), [])
  })
})

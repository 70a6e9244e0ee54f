/** A member multiplies no limit with API keys and share links. */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { type EventStream, openEvents } from '../support/events.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'

interface Person {
  token: string
  id: string
}

async function setUp(t: Test) {
  const adapter = faultyAdapter()
  const app = await startApp(t, { adapters: [adapter], settings: { connectionLimit: 0 } })
  const owner = await app.register('owner@example.org')
  const provider = await app.connectProvider(owner.token, 'faulty', { name: 'files' })
  return { app, adapter, owner, provider }
}

async function editor(app: TestApp, owner: Person, name = 'editor'): Promise<Person> {
  const person = await app.register(`${name}@example.org`)
  const input = { userId: person.id, role: 'EDITOR', providerAccess: { all: true } }
  await app.ask('mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }', { input }, owner.token)
  return person
}

function keysOf(app: TestApp, { token }: Person, count: number): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const { key } = await app.createKey(token, { name: `key ${n}`, scopes: ['read', 'write'] })
      return key
    }),
  )
}

const reasonOf = async (response: Response) => (await response.json()).errors[0].extensions.reason

/** Resolves with a function that starts to download a folder and does not end before the test. */
async function endlessArchive(t: Test, { app, adapter, owner, provider }: Awaited<ReturnType<typeof setUp>>) {
  // A first file large enough that the status is sent before the second file is read.
  await app.upload(owner.token, provider, '/f/0.bin', randomBytes(100_000))
  await app.upload(owner.token, provider, '/f/a', 'a')
  const client = new AbortController()
  t.teardown(() => client.abort())
  adapter.before = ({ method, path }) =>
    method === 'read' && path === 'f/a' && new Promise(resolve => client.signal.addEventListener('abort', resolve))
  const { signal } = client
  const search = new URLSearchParams({ providerId: provider, path: '/f' })
  return {
    direct: (token: string) => app.request(`/api/download/proxy?${search}`, { token, signal }),
    linked: ({ link }: { link: string }) => app.request(sharePath(link, 'content', { path: '/' }), { signal }),
  }
}

const eight = <T>(begin: () => T) => Array.from({ length: 8 }, begin)
const begun = (answers: Response[]) => answers.filter(({ status }) => status === 200)

t.test('a member, their keys and their share links download 16 folders at a time', async t => {
  const world = await setUp(t)
  const { app, owner, provider } = world
  const person = await editor(app, owner)
  const { direct, linked } = await endlessArchive(t, world)
  const keys = await keysOf(app, person, 4)
  const shares = await Promise.all(
    Array.from({ length: 8 }, () => makeShare(app, keys[0] ?? '', { providerId: provider, path: '/f' })),
  )
  const first = await Promise.all(shares.flatMap(share => eight(() => linked(share))))
  t.equal(begun(first).length, 12, 'links leave a part of the limit free')
  const refused = first.find(({ status }) => status !== 200)
  t.equal(refused?.status, 429)
  t.equal(refused && (await reasonOf(refused)), 'TOO_MANY_ARCHIVES')
  t.equal(begun(await Promise.all(keys.flatMap(key => eight(() => direct(key))))).length, 4)
  t.equal(begun(await Promise.all(eight(() => direct(owner.token)))).length, 8, 'another member')
})

t.test('all members together download 64 folders at a time', async t => {
  const world = await setUp(t)
  const { app, owner } = world
  const { direct } = await endlessArchive(t, world)
  const people = await Promise.all(['a', 'b', 'c', 'd'].map(name => editor(app, owner, name)))
  const tokens = await Promise.all(people.map(async each => [each.token, ...(await keysOf(app, each, 1))]))
  const answers = await Promise.all(tokens.flat().flatMap(token => eight(() => direct(token))))
  t.equal(begun(answers).length, 64)
  const refused = await direct(owner.token)
  t.equal(refused.status, 429)
  t.match(await refused.json(), { errors: [{ message: /server/, extensions: { reason: 'TOO_MANY_ARCHIVES' } }] })
})

t.test('a member with many keys opens 100 subscriptions', async t => {
  const { app, owner, provider } = await setUp(t)
  const person = await editor(app, owner)
  const keys = await keysOf(app, person, 6)
  const streams: EventStream[] = []
  t.teardown(() => streams.map(stream => stream.close()))
  const documents: [string, Record<string, unknown>][] = [
    ['subscription { jobChanged { id } }', {}],
    ['subscription ($at: ID!) { entryChanged(providerId: $at, path: "/") { kind } }', { at: provider }],
  ]
  for (const [query, variables] of documents) {
    const open = async (token: string) => {
      const stream = await openEvents(app.url, token, query, variables)
      streams.push(stream)
      return stream
    }
    const isRefused = ({ received }: EventStream) =>
      received[0]?.errors?.[0]?.extensions.reason === 'TOO_MANY_SUBSCRIPTIONS'
    const opened = await Promise.all(keys.flatMap(key => Array.from({ length: 20 }, () => open(key))))
    await until(() => opened.filter(isRefused).length === 20 || opened.filter(isRefused).length)
    const other = await open(owner.token)
    for (const stream of opened) stream.close()
    await Promise.all(opened.map(({ ended }) => ended))
    await until(async () => {
      const again = await open(keys[5] ?? '')
      await until(() => isRefused(again) || again.text() !== '')
      return !isRefused(again)
    })
    t.notOk(isRefused(other), 'another member')
  }
})

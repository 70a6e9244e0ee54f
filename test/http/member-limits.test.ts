/** A member multiplies no limit with API keys and share links. */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { type EventStream, openEvents } from '../support/events.ts'
import { atNight } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { metadataHeader, tus, tusPath } from './tus.ts'

interface Person {
  token: string
  id: string
}

async function setUp(t: Test, settings: TestAppOptions['settings'] = {}) {
  const adapter = faultyAdapter()
  const app = await startApp(t, { adapters: [adapter], settings: { connectionLimit: 0, ...settings } })
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

atNight(t, 'all members together download 64 folders at a time', async t => {
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

atNight(t, 'a member with many keys opens 100 subscriptions', async t => {
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

/** Begins a resumable upload through a drop link. */
function beginDrop(app: TestApp, link: string, name: string, size: number): Promise<Response> {
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': `${size}`,
    'upload-metadata': metadataHeader({ path: `/${name}` }),
  }
  return app.request(sharePath(link, 'uploads'), { method: 'POST', headers })
}

/** Lets time pass for the uploads. */
async function age({ db }: TestApp, minutes: number): Promise<void> {
  await sql`update uploads set expires_at = expires_at - make_interval(mins => ${minutes})`.execute(db)
}

atNight(t, 'uploads that do not continue block a drop link for minutes', async t => {
  const { app, owner, provider } = await setUp(t)
  const { link } = await makeShare(app, owner.token, { providerId: provider, path: '/', kind: 'DROP' })
  const size = 3 * 1024 * 1024
  const started = await beginDrop(app, link, 'started', size)
  const location = new URL(started.headers.get('location') ?? '', app.url).pathname
  const offset = async () =>
    (await app.request(location, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })).headers
  const sent = await app.request(location, {
    method: 'PATCH',
    headers: { 'tus-resumable': '1.0.0', 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
    body: randomBytes(2 * 1024 * 1024),
  })
  t.equal(sent.status, 204)
  const others = await Promise.all(Array.from({ length: 99 }, (_, n) => beginDrop(app, link, `${n}`, size)))
  t.same([...new Set(others.map(({ status }) => status))], [201])
  const refused = await beginDrop(app, link, 'more', size)
  t.equal(await reasonOf(refused), 'TOO_MANY_UPLOADS')
  await age(app, 11)
  const next = await beginDrop(app, link, 'more', size)
  t.equal(next.status, 201)
  t.equal((await offset()).get('upload-offset'), `${2 * 1024 * 1024}`, 'an upload with bytes can be continued')
})

atNight(t, 'a request that sends slowly keeps its upload', async t => {
  const { app, owner, provider } = await setUp(t)
  const { link } = await makeShare(app, owner.token, { providerId: provider, path: '/', kind: 'DROP' })
  const started = await beginDrop(app, link, 'slow', 10)
  const location = new URL(started.headers.get('location') ?? '', app.url).pathname
  let finish = () => {}
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(5))
      finish = () => {
        controller.enqueue(new Uint8Array(5))
        controller.close()
      }
    },
  })
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-offset': '0',
    'content-type': 'application/offset+octet-stream',
  }
  const sending = app.request(location, { method: 'PATCH', headers, body, duplex: 'half' })
  const left = async () => {
    const { rows } = await sql<{ minutes: number }>`
      select extract(epoch from expires_at - now())::float / 60 as minutes from uploads where lease_id is not null`.execute(
      app.db,
    )
    return rows[0]?.minutes ?? 0
  }
  await until(async () => (await left()) > 0)
  await age(app, 9)
  await until(async () => (await left()) > 9)
  finish()
  t.equal((await sending).status, 204)
})

atNight(t, 'all drop links of a member have 400 uploads, and leave those of the member', async t => {
  const { app, owner, provider } = await setUp(t)
  const links = await Promise.all(
    Array.from({ length: 5 }, () => makeShare(app, owner.token, { providerId: provider, path: '/', kind: 'DROP' })),
  )
  const statuses: number[] = []
  for (const [n, { link }] of links.entries()) {
    const begun = await Promise.all(Array.from({ length: 90 }, (_, m) => beginDrop(app, link, `${n}-${m}`, 10)))
    statuses.push(...begun.map(({ status }) => status))
  }
  t.equal(statuses.filter(status => status === 201).length, 400)
  const target = { url: app.url, token: owner.token }
  const metadata = metadataHeader({ providerId: provider, path: '/own' })
  const own = await tus(target, 'POST', tusPath, { 'upload-length': '5', 'upload-metadata': metadata })
  t.equal(own.status, 201)
})

t.test('a member sends four times as many requests as a credential, with any number of keys', async t => {
  const perMinute = 60
  const { app, owner, provider } = await setUp(t, { rateLimit: perMinute })
  const keys = await keysOf(app, owner, 6)
  const links = await Promise.all(
    Array.from({ length: 6 }, () => makeShare(app, owner.token, { providerId: provider, path: '/' })),
  )
  const counted = async (send: (n: number) => Promise<Response>) => {
    const answers = await Promise.all(Array.from({ length: 6 * (perMinute - 5) }, (_, n) => send(n % 6)))
    return answers.filter(({ status }) => status !== 429).length
  }
  const search = new URLSearchParams({ providerId: provider, path: '/missing' })
  const withLinks = await counted(n => app.request(sharePath(links[n]?.link ?? '')))
  t.equal(withLinks, 4 * perMinute, 'all links')
  const withKeys = await counted(n => app.request(`/api/download/proxy?${search}`, { token: keys[n] ?? '' }))
  t.ok(withKeys > 3 * perMinute && withKeys < 4 * perMinute, `${withKeys} with all keys, after those of the session`)
})

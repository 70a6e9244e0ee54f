/** The subscription `entryChanged`: who learns of which change of files. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { formatPath, isWithin, parsePath } from '../../src/auth/path.ts'
import { grant } from '../../src/auth/policy.ts'
import {
  changeOrigins,
  type EntryChange,
  EntrySubscription,
  entryChangeKinds,
  seenFrom,
} from '../../src/services/events/index.ts'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { type EventStream, openEvents } from '../support/events.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'

const follow = `subscription ($providerId: ID!, $path: String!) {
  entryChanged(providerId: $providerId, path: $path) { kind providerId path at }
}`
const folders = ['/a/x', '/a/y/deep', '/b']

async function setUp(t: Test, options: TestAppOptions = {}) {
  const app = await startApp(t, options)
  const { token: owner } = await app.register('owner@example.org')
  for (const folder of folders) {
    await mkdir(join(app.folder, folder), { recursive: true })
    await writeFile(join(app.folder, folder, 'file'), 'content')
  }
  const providerId = await app.connectProvider(owner, 'local', { root: app.folder })
  /** Subscribes, and resolves when changes are received. */
  async function subscribe(token: string, path: string, server: TestApp = app): Promise<EventStream> {
    const stream = await openEvents(server.url, token, follow, { providerId, path })
    t.teardown(() => stream.close())
    await stream.first(() => true)
    return stream
  }
  async function change(name: string, input: object, fields = '__typename', server: TestApp = app) {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`
    return server.ask(`mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, { input }, owner)
  }
  return { app, owner, providerId, subscribe, change, at: (path: string) => ({ providerId, path }) }
}

/** The changes in the order of their arrival, as "KIND /path". */
const seen = ({ received }: EventStream) =>
  received.flatMap(({ data }) => (data ? [`${data.entryChanged.kind} ${data.entryChanged.path}`] : []))
const arrives = (stream: EventStream, change: string) => until(() => seen(stream).includes(change) || seen(stream))
const everything = (path: string) => `TREE_CHANGED ${path}`

t.test('each way to change files arrives at the subscribers of any replica', async t => {
  const { app, owner, providerId, subscribe, change, at } = await setUp(t)
  const replica = await app.replica()
  const streams = [await subscribe(owner, '/'), await subscribe(owner, '/', replica)]
  const begin = Date.now()
  const cases: [string, string[], () => Promise<unknown>][] = [
    ['an upload', ['WRITTEN /a/new'], () => app.upload(owner, providerId, '/a/new', 'content')],
    ['a new folder', ['WRITTEN /c/d'], () => change('createFolder', at('/c/d'))],
    ['a copy', ['WRITTEN /c/copy'], () => change('copy', { ...at('/a/new'), toPath: '/c/copy' })],
    ['a rename', ['REMOVED /c/copy', 'WRITTEN /c/name'], () => change('rename', { ...at('/c/copy'), name: 'name' })],
    ['a move', ['REMOVED /c/name', 'WRITTEN /b/moved'], () => change('move', { ...at('/c/name'), toPath: '/b/moved' })],
    ['a deletion', ['REMOVED /b/moved'], () => change('delete', at('/b/moved'))],
  ]
  for (const [what, expected, run] of cases) {
    await run()
    for (const each of expected) for (const stream of streams) await arrives(stream, each)
    t.pass(what)
  }
  const job = { kind: 'MOVE', sources: [at('/a/x'), at('/a/y')], target: at('/b'), conflict: 'FAIL' }
  await change('createJob', job)
  for (const path of ['/a/x', '/a/y', '/b']) for (const stream of streams) await arrives(stream, everything(path))
  const { data } = await (streams[0] as EventStream).first(each => each.data?.entryChanged.path === '/a/new')
  t.equal(data?.entryChanged.providerId, providerId)
  t.ok(Math.abs(Date.parse(data?.entryChanged.at) - begin) < 60_000, 'the time of the change')
})

t.test('one subscription follows several locations', async t => {
  const { app, owner, providerId, change, at } = await setUp(t)
  const followAll = `subscription ($providerId: ID!, $path: String!, $others: [LocationInput!]) {
    entryChanged(providerId: $providerId, path: $path, others: $others) { kind providerId path at }
  }`
  const memory = await app.connectProvider(owner, 'memory', {})
  const open = (token: string, others: { providerId: string; path: string }[]) =>
    openEvents(app.url, token, followAll, { providerId, path: '/a/x', others })
  const stream = await open(owner, [at('/b'), { providerId: memory, path: '/' }, { providerId: memory, path: '/a/x' }])
  t.teardown(() => stream.close())
  const begun = [everything('/a/x'), everything('/b'), everything('/'), everything('/a/x')]
  await until(() => seen(stream).length === begun.length)
  t.same(seen(stream), begun, 'each location begins')
  await change('createFolder', at('/a/y/elsewhere'))
  await change('createFolder', at('/b/one'))
  await change('createFolder', { providerId: memory, path: '/two' })
  await arrives(stream, 'WRITTEN /b/one')
  await arrives(stream, 'WRITTEN /two')
  t.notMatch(seen(stream).join(), 'elsewhere')
  const providerAccess = { restrictions: [{ providerId, basePath: '/a' }] }
  const { key } = await app.createKey(owner, { name: 'k', scopes: ['read'], providerAccess })
  for (const [others, reason] of [
    [[at('/b')], 'OUTSIDE_BASE_PATH'],
    [[{ providerId: memory, path: '/a/x' }], 'PROVIDER_NOT_ALLOWED'],
    [Array(50).fill(at('/a/y')), 'INVALID_INPUT'],
  ] as const) {
    const refused = await app.request('/graphql', {
      method: 'POST',
      token: key,
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: followAll, variables: { providerId, path: '/a/x', others } }),
    })
    t.match(await refused.text(), reason)
  }
})

t.test('nobody learns of a path outside of what they follow', async t => {
  const { app, owner, providerId, subscribe, change, at } = await setUp(t)
  const restricted = async (basePath: string) => {
    const providerAccess = { restrictions: [{ providerId, basePath }] }
    return (await app.createKey(owner, { name: basePath, scopes: ['read'], providerAccess })).key
  }
  const keyA = await restricted('/a')
  const streams = {
    a: await subscribe(keyA, '/a'),
    deep: await subscribe(keyA, '/a/y/deep'),
    file: await subscribe(owner, '/a/x/file'),
    b: await subscribe(await restricted('/b'), '/b'),
  }
  const outside = await openEvents(app.url, keyA, follow, at('/b'))
  t.equal(await outside.ended, true)
  t.match(outside.received, [{ errors: [{ extensions: { reason: 'OUTSIDE_BASE_PATH' } }] }])

  await change('copy', { ...at('/a/x/file'), toPath: '/ab' })
  await change('move', { ...at('/a/x/file'), toPath: '/b/file-of-a' })
  await change('move', { ...at('/a/y'), toPath: '/b/secret-name' })
  await change('createFolder', at('/a/end'))
  await change('createFolder', at('/b/end'))
  await arrives(streams.a, 'WRITTEN /a/end')
  await arrives(streams.b, 'WRITTEN /b/end')
  t.same(seen(streams.a), [everything('/a'), 'REMOVED /a/x/file', 'REMOVED /a/y', 'WRITTEN /a/end'])
  t.same(seen(streams.deep), [everything('/a/y/deep'), 'REMOVED /a/y/deep'], 'a folder above it was moved')
  t.same(seen(streams.file), [everything('/a/x/file'), 'REMOVED /a/x/file'])
  t.same(seen(streams.b), [everything('/b'), 'WRITTEN /b/file-of-a', 'WRITTEN /b/secret-name', 'WRITTEN /b/end'])
})

t.test('a change shows only paths within the location that is followed', async () => {
  const segment = fc.constantFrom('a', 'b', 'ab', 'a b', 'é')
  const path = fc.array(segment, { maxLength: 4 }).map(names => parsePath(`/${names.join('/')}`))
  const providerId = fc.constantFrom('p', 'q')
  const location = fc.record({ providerId, path })
  const change = fc.record({
    kind: fc.constantFrom(...entryChangeKinds),
    origin: fc.constantFrom(...changeOrigins),
    providerId,
    path,
    at: fc.constant(new Date(0)),
  })
  fc.assert(
    fc.property(location, change, (followed, change: EntryChange) => {
      const found = seenFrom(followed, change)
      const isSame = followed.providerId === change.providerId
      const isRelated = isWithin(change.path, followed.path) || isWithin(followed.path, change.path)
      if (found === null) return !(isSame && isRelated)
      return isSame && isRelated && isWithin(found.path, followed.path)
    }),
    { numRuns: extent({ gate: 1000, nightly: 5000 }) },
  )
})

t.test('changes that were missed count as a change of everything', async t => {
  const { app, owner, subscribe } = await setUp(t)
  const stream = await subscribe(owner, '/a')
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen stowage_entries'
    and datname = current_database()`.execute(app.db)
  await until(() => seen(stream).length === 2 || seen(stream))
  t.same(seen(stream), [everything('/a'), everything('/a')])
})

t.test('a client that reads slowly gets one change of everything', async t => {
  const viewer = { scope: 'read', access: { all: true }, member: { workspaceId: 'w' } } as never
  const path = parsePath('/a')
  const granted = grant(viewer, { scope: 'read', providerId: 'p', path })
  const subscription = new EntrySubscription([granted], () => {})
  const write = (n: number) =>
    subscription.offer({
      kind: 'WRITTEN',
      origin: 'STOWAGE',
      providerId: 'p',
      path: parsePath(`/a/${n}`),
      at: new Date(),
    })
  for (let n = 0; n < 2500; n++) write(n)
  const read: string[] = []
  for await (const { change } of subscription) {
    read.push(`${change.kind} ${formatPath(change.path)}`)
    if (change.path === parsePath('/a/2499')) await subscription.return()
  }
  t.equal(read[0], everything('/a'))
  t.ok(read.length < 1001, `${read.length} of 2500 changes`)
})

t.test('the end of a key or of a provider ends the stream', async t => {
  const { app, owner, providerId, subscribe } = await setUp(t)
  const { key, id } = await app.createKey(owner, { name: 'k', scopes: ['read'] })
  const reasons = ({ received }: EventStream) =>
    received.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions.reason))
  const ofKey = await subscribe(key, '/a')
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner)
  t.equal(await ofKey.ended, true)
  t.same(reasons(ofKey), ['KEY_REVOKED'])
  const ofOwner = await subscribe(owner, '/a')
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: providerId }, owner)
  t.equal(await ofOwner.ended, true)
  t.same(reasons(ofOwner), ['PROVIDER_NOT_ALLOWED'])
})

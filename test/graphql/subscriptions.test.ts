/** Subscriptions as server-sent events: the protocol, and who receives what. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { head, talk } from '../http/socket.ts'
import { startNginx } from '../servers/nginx.ts'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { type EventStream, openEvents } from '../support/events.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

const create = `mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }`
const follow = 'subscription ($id: ID) { jobChanged(id: $id) { id state progress { files totalFiles } } }'
/** Milliseconds until a test fails. The promise is one second; the test prints the measured time. */
const endTimeout = 10_000

interface World {
  app: TestApp
  owner: string
  provider: string
  /** Subscribes with a token. The stream is closed at the end of the test. */
  subscribe(token: string, id?: string | null, server?: TestApp, query?: string): Promise<EventStream>
  createJob(token: string, path?: string, target?: string): Promise<string>
  /** Changes a job as the server that runs it does. */
  setJob(id: string, state: string, files?: number): Promise<void>
  member(role: string, access?: object): Promise<{ token: string; id: string }>
}

async function setUp(t: Test, options: TestAppOptions = {}): Promise<World> {
  const app = await startApp(t, { ...options, settings: { workers: 0, ...options.settings } })
  const { token: owner } = await app.register('owner@example.org')
  await mkdir(join(app.folder, 'a/x'), { recursive: true })
  await writeFile(join(app.folder, 'a/x/file'), 'content')
  const provider = await app.connectProvider(owner, 'local', { root: app.folder })
  let people = 0
  return {
    app,
    owner,
    provider,
    async subscribe(token, id = null, server = app, query = follow) {
      const stream = await openEvents(server.url, token, query, id === null ? {} : { id })
      t.teardown(() => stream.close())
      return stream
    },
    async createJob(token, path = '/a/x', target = '/a/copies') {
      const at = (path: string) => ({ providerId: provider, path })
      const input = { kind: 'COPY', sources: [at(path)], target: at(target), conflict: 'REPLACE' }
      return (await app.ask(create, { input }, token)).createJob.job.id
    },
    async setJob(id, state, files = 0) {
      await sql`update jobs set state = ${state}, files = ${files}, lease_until = now(),
        ended_at = case when ${state} in ('SUCCEEDED', 'FAILED') then now() end where id = ${id}`.execute(app.db)
    },
    async member(role, providerAccess = { all: true }) {
      people += 1
      const person = await app.register(`person-${people}@example.org`)
      await app.ask(
        'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
        { input: { userId: person.id, role, providerAccess } },
        owner,
      )
      return person
    },
  }
}

const stateOf = ({ data }: EventStream['received'][number]) => data?.jobChanged.state
const idsIn = (stream: EventStream) => stream.received.map(({ data }) => data?.jobChanged.id)
const reasonsIn = ({ received }: EventStream) =>
  received.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions.reason))

t.test('the response follows the protocol', async t => {
  const { app, owner, subscribe, createJob, setJob } = await setUp(t)
  const id = await createJob(owner)
  const stream = await subscribe(owner, id)
  t.equal(stream.status, 200)
  t.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(stream.headers.get('cache-control'), 'no-store, no-transform')
  t.equal(stream.headers.get('x-accel-buffering'), 'no')
  t.ok(stream.headers.get('x-request-id'))
  await stream.first(payload => stateOf(payload) === 'QUEUED')
  await setJob(id, 'RUNNING', 3)
  const { data } = await stream.first(payload => stateOf(payload) === 'RUNNING')
  t.same(data, { jobChanged: { id, state: 'RUNNING', progress: { files: 3, totalFiles: null } } })
  t.match(stream.text(), /^:\n\nevent: next\ndata: \{.*\}\n\nevent: next\ndata: \{.*\}\n\n$/)

  const whole = async (query: string, variables = {}, token: string | null = owner) => {
    const opened = await openEvents(app.url, token, query, variables)
    t.equal(await opened.ended, true, 'the stream is complete')
    return { status: opened.status, received: opened.received }
  }
  t.same(await whole('{ __typename }'), { status: 200, received: [{ data: { __typename: 'Query' } }] })
  t.match(await whole('{'), { status: 200, received: [{ errors: [{ extensions: { reason: 'INVALID_QUERY' } }] }] })
  t.match(await whole(follow, { id: 'x' }), { received: [{ errors: [{ extensions: { reason: 'NOT_FOUND' } }] }] })
  t.match(await whole(follow, { id: [] }), { received: [{ errors: [{ extensions: { reason: 'INVALID_INPUT' } }] }] })
  t.match(await whole(follow, {}, null), {
    received: [{ errors: [{ extensions: { reason: 'CREDENTIAL_REQUIRED' } }] }],
  })
  t.equal((await openEvents(app.url, 'rubbish', follow)).status, 401)

  const plain = await app.graphql(follow, { id }, owner)
  t.match(plain.errors, [{ extensions: { reason: 'INVALID_INPUT' }, message: /text\/event-stream/ }])
  const query = encodeURIComponent(`subscription { jobChanged(id: "${id}") { state } }`)
  const accept = { accept: 'text/event-stream' }
  const get = await app.request(`/graphql?query=${query}`, { token: owner, headers: accept })
  const reader = get.body?.getReader()
  t.teardown(() => reader?.cancel())
  t.equal(get.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const head = await app.request(`/graphql?query=${query}`, { method: 'HEAD', token: owner, headers: accept })
  t.equal(head.headers.get('content-type'), 'application/json; charset=utf-8', 'HEAD opens no stream')
  const mutation = encodeURIComponent('mutation { logout }')
  const changed = await app.request(`/graphql?query=${mutation}`, { token: owner, headers: accept })
  t.equal(changed.status, 405, 'GET changes nothing')
  const json = await app.request('/graphql', {
    method: 'POST',
    token: owner,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ query: '{ __typename }' }),
  })
  t.equal(json.headers.get('content-type'), 'application/json; charset=utf-8', 'a query prefers JSON')
})

t.test('comments keep a stream without events open', async t => {
  const { owner, subscribe } = await setUp(t, { heartbeat: 20 })
  const stream = await subscribe(owner)
  await until(() => /^(?::\n\n){5,}$/.test(stream.text()) || stream.text())
})

t.test('a subscriber on one replica follows a job that another replica runs', async t => {
  const { app, owner, subscribe, createJob } = await setUp(t)
  const all = await subscribe(owner)
  const worker = await app.replica({ settings: { workers: 2 } })
  const id = await createJob(owner)
  const one = await subscribe(owner, id)
  for (const stream of [all, one]) {
    const { data } = await stream.first(payload => stateOf(payload) === 'SUCCEEDED')
    t.match(data.jobChanged, { id, progress: { files: 1 } })
  }
  t.ok(await worker.ask('{ me { id } }', {}, owner))
  const late = await subscribe(owner, id, worker)
  t.equal(stateOf(await late.first(() => true)), 'SUCCEEDED', 'the present state comes first')
  const lateForAll = await subscribe(owner, null, worker)
  t.equal(stateOf(await lateForAll.first(() => true)), 'SUCCEEDED', 'jobs that ended a moment ago come, too')
})

t.test('everybody receives only jobs that they see', async t => {
  const { owner, provider, subscribe, createJob, setJob, member } = await setUp(t)
  const [ann, bob] = [await member('EDITOR'), await member('EDITOR')]
  const narrow = await member('ADMIN', { restrictions: [{ providerId: provider, basePath: '/b' }] })
  const id = await createJob(ann.token)
  const streams = {
    owner: await subscribe(owner),
    ann: await subscribe(ann.token),
    bob: await subscribe(bob.token),
    narrow: await subscribe(narrow.token),
  }
  const refused = await subscribe(bob.token, id)
  t.equal(await refused.ended, true)
  t.same(reasonsIn(refused), ['NOT_FOUND'])
  await setJob(id, 'RUNNING')
  const own = await createJob(bob.token)
  for (const stream of [streams.owner, streams.ann]) await stream.first(payload => stateOf(payload) === 'RUNNING')
  await streams.owner.first(({ data }) => data?.jobChanged.id === own)
  await streams.bob.first(({ data }) => data?.jobChanged.id === own)
  t.same(new Set(idsIn(streams.owner)), new Set([id, own]), 'an administrator sees everybody')
  t.same(new Set(idsIn(streams.ann)), new Set([id]))
  t.same(new Set(idsIn(streams.bob)), new Set([own]))
  t.same(streams.narrow.received, [], 'nobody sees jobs outside their base path')
})

t.test('the end of a credential ends the stream within a second', async t => {
  const begunAt = Date.now()
  const { app, owner, subscribe, createJob, member } = await setUp(t)
  const replica = await app.replica()
  const person = await member('EDITOR')
  const key = await app.createKey(person.token, { name: 'k', scopes: ['write'] })
  const login =
    'mutation { login(input: { email: "person-1@example.org", password: "correct horse battery staple" }) { token } }'
  const session = (await app.ask(login)).login.token
  const removed = await member('EDITOR')
  const lowered = await member('EDITOR')
  const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id } }'
  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  // The streams begin before the key expires.
  const soonest = Date.now() + 2000 + 2 * (Date.now() - begunAt)
  const soon = { name: 'soon', scopes: ['write'], expiresAt: new Date(soonest).toISOString() }
  const short = await app.createKey(person.token, soon)
  const cases: [string, string, string[], () => Promise<unknown>][] = [
    ['an expired key', short.key, ['KEY_EXPIRED'], () => until(() => Date.parse(soon.expiresAt) <= Date.now())],
    ['a revoked key', key.key, ['KEY_REVOKED'], () => app.ask(revoke, { id: key.id }, person.token)],
    ['an ended session', session, ['SESSION_ENDED'], () => app.ask('mutation { logout }', {}, session)],
    [
      'a removed member',
      removed.token,
      ['SESSION_ENDED', 'INVALID_CREDENTIAL'],
      () => app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: removed.id }, owner),
    ],
    [
      'a lost role',
      lowered.token,
      ['SCOPE_REQUIRED'],
      () => app.ask(update, { input: { userId: lowered.id, role: 'NONE' } }, owner),
    ],
  ]
  for (const [what, token, reasons, end] of cases) {
    await t.test(what, async t => {
      const streams = [await subscribe(token), await subscribe(token, null, replica)]
      if (token !== removed.token && token !== lowered.token) {
        streams.push(await subscribe(token, await createJob(token), replica))
      }
      await end()
      const begin = performance.now()
      t.same(
        await Promise.all(streams.map(({ ended }) => ended)),
        streams.map(() => true),
        'with a complete event',
      )
      const ms = Math.round(performance.now() - begin)
      t.comment(`${ms} ms`)
      t.ok(ms < endTimeout)
      for (const stream of streams) t.ok(reasons.includes(String(reasonsIn(stream).at(-1))), stream.text().slice(-300))
    })
  }
})

t.test('losing access to the locations of a job ends its subscription', async t => {
  const { app, owner, provider, subscribe, createJob, setJob, member } = await setUp(t)
  const person = await member('EDITOR')
  const id = await createJob(person.token)
  const [one, all] = [await subscribe(person.token, id), await subscribe(person.token)]
  await Promise.all([one, all].map(stream => stream.first(() => true)))
  const providerAccess = { restrictions: [{ providerId: provider, basePath: '/b' }] }
  await app.ask(
    'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
    { input: { userId: person.id, providerAccess } },
    owner,
  )
  t.equal(await one.ended, true)
  t.same(reasonsIn(one), ['NOT_FOUND'])
  await setJob(id, 'RUNNING')
  const mine = await createJob(owner)
  const other = await subscribe(owner)
  await other.first(({ data }) => data?.jobChanged.id === mine)
  t.same(new Set(all.received.map(stateOf)), new Set(['QUEUED']), 'the other subscription continues without the job')
})

t.test('one query reads a set of changed jobs for all subscriptions, and idle ones write nothing', async t => {
  const queries: string[] = []
  const { app, owner, subscribe, createJob } = await setUp(t, { onQuery: ({ sql }) => queries.push(sql) })
  const ids = await Promise.all(['/1', '/2', '/3'].map(target => createJob(owner, '/a/x', target)))
  const streams = await Promise.all(Array.from({ length: 18 }, () => subscribe(owner)))
  for (const stream of streams) await until(() => new Set(idsIn(stream)).size === 3)
  // The first refresh follows when the connection listens.
  await until(async () => (await listeners(app)) === 1)
  const readsOfJobs = () => queries.filter(text => /from "jobs"/.test(text)).length
  queries.length = 0
  await sql`update jobs set state = 'RUNNING'`.execute(app.db)
  for (const stream of streams)
    await until(() => stream.received.filter(each => stateOf(each) === 'RUNNING').length === 3)
  t.ok(readsOfJobs() <= 8, `${readsOfJobs()} queries for ${streams.length} subscriptions to ${ids.length} jobs`)
  if (!isNight) return
  queries.length = 0
  // Everything is read again every ten seconds.
  await until(() => readsOfJobs() >= 2)
  t.same(
    queries.filter(text => !/^\s*(select|with)/i.test(text)),
    [],
    'only reads',
  )
})

/** Counts the connections that listen for changes of jobs. */
async function listeners({ db }: TestApp): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from pg_stat_activity
    where datname = current_database() and query = 'listen stowage_jobs'`.execute(db)
  return Number(rows[0]?.count)
}

t.test('a server listens on one connection while it has subscriptions, and again after losing it', async t => {
  const { app, owner, subscribe, createJob, setJob } = await setUp(t)
  const id = await createJob(owner)
  t.equal(await listeners(app), 0)
  const streams = [await subscribe(owner), await subscribe(owner, id)]
  await until(async () => (await listeners(app)) === 1)
  for (const state of extent({ gate: ['RUNNING'], nightly: ['RUNNING', 'PAUSED', 'RUNNING'] })) {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen stowage_jobs'
      and datname = current_database()`.execute(app.db)
    // The notification of this change is lost.
    await setJob(id, state)
    for (const stream of streams) {
      await until(() => stateOf(stream.received.at(-1) ?? {}) === state)
    }
    await until(async () => (await listeners(app)) === 1)
  }
  for (const stream of streams) stream.close()
  await until(async () => (await listeners(app)) === 0)
})

const refusedOf = (opened: EventStream[]) => opened.filter(stream => reasonsIn(stream)[0] === 'TOO_MANY_SUBSCRIPTIONS')

t.test('a credential has 20 open subscriptions at most', async t => {
  const { app, owner, subscribe } = await setUp(t)
  const streams = await Promise.all(Array.from({ length: 30 }, () => subscribe(owner)))
  await until(() => refusedOf(streams).length === 10 || refusedOf(streams).length)
  t.ok((await Promise.all(refusedOf(streams).map(({ ended }) => ended))).every(Boolean), 'refusals are complete')
  t.ok(await app.ask('{ me { id } }', {}, owner), 'other requests work')
})

atNight(t, 'open subscriptions are bounded for each credential and for the server', async t => {
  const { app, owner, member } = await setUp(t, { settings: { connectionLimit: 0 } })
  const people = await Promise.all(Array.from({ length: 10 }, () => member('VIEWER')))
  const keys = await Promise.all(
    [owner, ...people.flatMap(({ token }) => Array.from({ length: 5 }, () => token))].map(
      async (token, n) => (await app.createKey(token, { name: `k${n}`, scopes: ['read'] })).key,
    ),
  )
  const streams: EventStream[] = []
  t.teardown(() => streams.map(stream => stream.close()))
  const open = async (token: string) => {
    const stream = await openEvents(app.url, token, follow)
    streams.push(stream)
    return stream
  }
  const [first = '', ...others] = keys
  const flood = await Promise.all(Array.from({ length: 1000 }, () => open(first)))
  await until(() => refusedOf(flood).length === 980 || refusedOf(flood).length)
  t.ok((await Promise.all(refusedOf(flood).map(({ ended }) => ended))).every(Boolean), 'refusals are complete')
  t.match(refusedOf(flood)[0]?.received, [{ errors: [{ extensions: { code: 'FORBIDDEN', retryable: true } }] }])
  const left = flood.filter(stream => !refusedOf(flood).includes(stream))
  for (const stream of left.slice(0, 5)) stream.close()
  await until(async () => {
    const next = await open(first)
    await until(() => next.text().length > 3 || true)
    return reasonsIn(next).length === 0
  })
  for (const stream of streams) stream.close()
  await Promise.all(streams.map(({ ended }) => ended))

  await until(async () => {
    const again = await open(first)
    await until(() => again.text() !== '')
    return refusedOf([again]).length === 0
  })
  for (const stream of streams.splice(0)) stream.close()
  const all = await Promise.all(others.flatMap(key => Array.from({ length: 20 }, () => open(key))))
  const extra = await open(first)
  await until(() => refusedOf([extra]).length === 1 || extra.text())
  t.match(extra.received, [{ errors: [{ message: /server has too many/ }] }])
  t.equal(refusedOf(all).length, 0)
  t.ok(await app.ask('{ me { id } }', {}, owner), 'other requests work')
})

t.test('a document of a subscription is bounded', async t => {
  const { owner, subscribe } = await setUp(t)
  const cases: [string, string][] = [
    ['subscription { a: jobChanged { id } b: jobChanged { id } }', 'INVALID_QUERY'],
    ['subscription { jobChanged { failures(first: 1000) { nodes { path message } } } }', 'QUERY_TOO_LARGE'],
    [
      `subscription { jobChanged { ${Array.from({ length: 90 }, (_, n) => `f${n}: failures(first: 50) { nodes { path } }`).join(' ')} } }`,
      'QUERY_TOO_LARGE',
    ],
    ['subscription { jobChanged { id } } subscription { jobChanged { id } }', 'INVALID_QUERY'],
    ['subscription { jobChanged { failures(first: 50) { nodes { path reason message } } } }', 'OK'],
  ]
  for (const [query, reason] of cases) {
    const stream = await subscribe(owner, null, undefined, query)
    if (reason !== 'OK') await stream.ended
    t.same([...new Set(reasonsIn(stream))], reason === 'OK' ? [] : [reason], query.slice(0, 80))
  }
})

t.test('a client that does not read receives the latest state of each job', async t => {
  const { app, owner, createJob, setJob } = await setUp(t)
  const id = await createJob(owner)
  // Each event is larger than the buffers of a connection that nobody reads.
  await sql`insert into job_entries (job_id, state, provider_id, path, target_path, depth, reason, message)
    select ${id}, 'SOURCE', gen_random_uuid(), repeat('p', 4000), null, 0, 'NOT_FOUND', repeat('m', 90000)
    from generate_series(1, 50)`.execute(app.db)
  const query =
    'subscription { jobChanged { state progress { files } failures(first: 50) { nodes { path message } } } }'
  const client = await talk(Number(new URL(app.url).port))
  t.teardown(() => client.socket.destroy())
  const body = JSON.stringify({ query })
  const headers = {
    Accept: 'text/event-stream',
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Authorization: `Bearer ${owner}`,
  }
  await client.send(head('POST', `${app.url}/graphql`, headers) + body)
  await client.until(/event: next/)
  client.socket.pause()
  const others = await openEvents(app.url, owner, follow)
  t.teardown(() => others.close())
  const most = extent({ gate: 10, nightly: 30 })
  for (let files = 1; files <= most; files++) {
    await setJob(id, 'RUNNING', files)
    await others.first(({ data }) => data?.jobChanged.progress.files === files)
  }
  client.socket.resume()
  await client.until(new RegExp(`"files":${most}`))
  const seen = client.received().match(/"files":\d+/g) ?? []
  t.ok(seen.length <= 4, `${seen}`)
})

t.test('a closing server completes the streams at once', async t => {
  const { app, owner, subscribe } = await setUp(t)
  const stream = await subscribe(owner)
  const begin = performance.now()
  const closing = app.close()
  t.equal(await stream.ended, true)
  t.same(reasonsIn(stream), ['UNAVAILABLE'])
  await closing
  t.ok(performance.now() - begin < endTimeout, `${Math.round(performance.now() - begin)} ms`)
})

atNight(t, 'events pass through nginx at once, with its default buffering', async t => {
  const { app, owner, createJob, setJob } = await setUp(t)
  const front = await startNginx(t, app.url, 'gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;')
  const id = await createJob(owner)
  const stream = await openEvents(front, owner, follow, { id })
  t.teardown(() => stream.close())
  await stream.first(payload => stateOf(payload) === 'QUEUED')
  for (let files = 1; files <= 5; files++) {
    await setJob(id, 'RUNNING', files)
    await stream.first(({ data }) => data?.jobChanged.progress.files === files)
  }
  stream.close()
})

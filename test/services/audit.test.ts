import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { CompiledQuery, sql } from 'kysely'
import t from 'tap'
import { timeOrderedIds } from '../../src/auth/id.ts'
import { type AuditEvent, insertAuditEvents } from '../../src/db/audit-events.ts'
import { AppError } from '../../src/errors.ts'
import { BatchFailures, ShareFailures } from '../../src/services/audit/failures.ts'
import { isBelow } from '../matrix/model.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'
import { lockTable } from '../support/lock-table.ts'
import { ask, makeShare, read } from '../support/shares.ts'
import { until } from '../support/until.ts'

const events = `query ($first: Int, $after: String, $filter: AuditEventFilter) {
  auditEvents(first: $first, after: $after, filter: $filter) {
    nodes { id action result path toPath count bytes userEmail credentialKind credentialPrefix address details }
    pageInfo { endCursor hasNextPage }
  }
}`

interface StoredEvent {
  path: string | null
  bytes: number | null
}

const origin = { address: '192.0.2.1', requestId: 'of the test' }

async function logOf(app: TestApp, token: string, filter: object = {}) {
  await app.app.services.audit.flush()
  return (await app.ask(events, { first: 200, filter }, token)).auditEvents.nodes
}

async function withDisk(app: TestApp) {
  const { token } = await app.register('owner@example.org')
  return { token, providerId: await app.connectProvider(token, 'local', { root: app.folder }) }
}

t.test('a change without its event is undone; transfers continue, and their events are written later', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  await sql`alter table audit_events rename to away`.execute(app.db)
  const create = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }'
  const refused = await app.graphql(create, { input: { name: 'a key', scopes: ['read'] } }, token)
  t.equal(refused.errors[0]?.extensions.reason, 'INTERNAL')
  t.same((await app.ask('{ apiKeys { nodes { id } } }', {}, token)).apiKeys.nodes, [])
  t.equal((await app.upload(token, providerId, '/a.txt', 'a')).status, 201)
  await sql`alter table away rename to audit_events`.execute(app.db)
  t.match(await logOf(app, token, { action: 'UPLOAD' }), [{ result: 'OK', path: '/a.txt', bytes: 1 }])
  t.match(await logOf(app, token, { action: 'API_KEY_CREATE' }), [{ result: 'INTERNAL' }])
})

atNight(t, 'a batch whose connection is killed is written once and delays no request', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  await app.upload(token, providerId, '/first.txt', 'a')
  const unlock = await lockTable(app.db, 'audit_events')
  const flushed = app.app.services.audit.flush()
  const kill = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock' and query like '%insert into audit_events%'`.execute(app.db)
  await until(async () => (await kill()).rows.length > 0)
  await flushed
  // The pool may use the killed connection for one more request.
  await until(async () => (await app.graphql('{ me { id } }', {}, token)).status === 200)
  t.equal((await app.upload(token, providerId, '/second.txt', 'b')).status, 201, 'while the table is locked')
  await unlock()
  const paths = (await logOf(app, token, { action: 'UPLOAD' })).map((event: { path: string }) => event.path)
  t.same(paths, ['/second.txt', '/first.txt'])
})

/** A path of almost 4,096 bytes that hardly compress: Chinese characters of three bytes each. */
function longPath(seed: number): string {
  const random = createHash('shake256', { outputLength: 2700 }).update(`${seed}`).digest()
  const characters = Array.from(new Uint16Array(new Uint8Array(random).buffer), n => 0x4e00 + (n % 20_000))
  const names = String.fromCodePoint(...characters).match(/.{1,300}/g) ?? []
  return `/${names.join('/')}`
}

atNight(t, 'events with the longest paths are stored, together with the rest of their batch', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  const { audit, credentials } = app.app.services
  await audit.flush()
  const viewer = await credentials.authenticate(token, origin)
  const paths = Array.from({ length: 20 }, (_, n) => (n % 2 ? `/${n}` : longPath(n)))
  t.ok(paths.some(path => Buffer.byteLength(path) > 4050))
  for (const path of paths) {
    audit.note(viewer, 'MOVE', { location: { providerId, path }, to: { providerId, path: `${path}-2` } })
  }
  const foundPaths = (await logOf(app, token, { action: 'MOVE' })).map(({ path }: StoredEvent) => path)
  t.same(foundPaths.toReversed(), paths)
  for (const pathPrefix of paths.slice(0, 2)) {
    t.match(await logOf(app, token, { providerId, pathPrefix }), [{ path: pathPrefix }])
  }
  t.notMatch(app.logged(), /"lost"/)
})

atNight(
  t,
  "an event that the database refuses goes to the server's log, and the rest of its batch is stored",
  async t => {
    const app = await startApp(t)
    const { token, providerId } = await withDisk(app)
    const { audit, credentials } = app.app.services
    await audit.flush()
    const viewer = await credentials.authenticate(token, origin)
    // Bounds exclude every known reason why the database refuses an event, so a trigger simulates another one.
    await sql`create function refuse() returns trigger language plpgsql as $$ begin
    if new.path like '/refused%' then raise exception 'no such path' using errcode = '54000'; end if; return new; end $$`.execute(
      app.db,
    )
    await sql`create trigger refuse before insert on audit_events for each row execute function refuse()`.execute(
      app.db,
    )
    const noted = 2500
    const refused = new Set([0, 1, 999, 1000, 1700, 2499])
    const pathOf = (n: number) => (refused.has(n) ? `/refused-${n}` : `/kept-${n}`)
    for (let n = 0; n < noted; n++) audit.note(viewer, 'COPY', { location: { providerId, path: pathOf(n) } })
    for (let attempt = 0; attempt < 3; attempt++) await audit.flush()
    const { rows } = await sql<{
      path: string
    }>`select path from audit_events where action = 'COPY' order by id`.execute(app.db)
    const expected = Array.from({ length: noted }, (_, n) => n).filter(n => !refused.has(n))
    t.same(
      rows.map(({ path }) => path),
      expected.map(pathOf),
    )
    const losses = app
      .logged()
      .split('\n')
      .filter(line => line.includes('"lost"'))
      .map(line => JSON.parse(line))
    t.same(
      losses.map(({ event }) => event.path),
      [...refused].map(pathOf),
    )
    for (const loss of losses) {
      t.match(loss, { level: 50, lost: { COPY: 1 }, event: { userEmail: 'owner@example.org' }, err: { code: '54000' } })
    }
  },
)

atNight(t, 'events at a location are found by an index, for any length of path', async t => {
  const asked: CompiledQuery[] = []
  const app = await startApp(t, { onQuery: query => asked.push(query) })
  const { token, providerId } = await withDisk(app)
  await sql`insert into audit_events (id, workspace_id, at, action, result, address, request_id, provider_id, path,
      to_provider_id, to_path)
    select gen_random_uuid(), w.id, now(), 'MOVE', 'OK', '', '', ${providerId}, '/' || repeat('folder/', 50) || n,
      ${providerId}, '/' || n || '/' || repeat('x', 300)
    from workspaces w, generate_series(1, 20000) as n`.execute(app.db)
  await sql`analyze audit_events`.execute(app.db)
  for (const [pathPrefix, index] of [
    ['/12345', 'audit_events_to_path'],
    ['/elsewhere', 'audit_events_path'],
    [`/12345/${'x'.repeat(300)}`, 'audit_events_to_path'],
  ] as const) {
    asked.length = 0
    await logOf(app, token, { providerId, pathPrefix })
    const column = index.replace('audit_events_', '')
    const query = asked.find(({ sql }) => sql.includes(`left("${column}"`))
    if (!query) throw new Error(`No query asks for ${column}`)
    const { rows } = await app.db.executeQuery<{ 'QUERY PLAN': string }>(
      CompiledQuery.raw(`explain ${query.sql}`, [...query.parameters]),
    )
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    t.match(plan, new RegExp(`Index Scan (using|on) ${index}\\b`), index)
    t.notMatch(plan, 'Seq Scan')
  }
})

atNight(t, 'close writes the waiting events, and two replicas share one log', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  const other = await app.replica()
  await app.upload(token, providerId, '/one.txt', 'a')
  await other.upload(token, providerId, '/two.txt', 'b')
  await app.close()
  const paths = (await logOf(other, token, { action: 'UPLOAD' })).map((event: { path: string }) => event.path)
  t.same(paths, ['/two.txt', '/one.txt'])
})

t.test('repeated failures at one path are merged into few events', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  const restrictions = [{ providerId, basePath: '/in' }]
  const { key } = await app.createKey(token, { name: 'k', scopes: ['read'], providerAccess: { restrictions } })
  await app.app.services.audit.flush()
  for (let index = 0; index < 30; index++) await app.download(key, providerId, '/out')
  const alike = await logOf(app, token, { action: 'DOWNLOAD' })
  const total = alike.reduce((sum: number, { count }: { count: number }) => sum + count, 0)
  t.equal(total, 30)
  t.ok(alike.length < 30 && alike.every((event: { path: string }) => event.path === '/out'))
})

t.test('a flood of failures names a hundred locations of each credential and counts the rest', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  const { audit, credentials } = app.app.services
  const floods = await Promise.all(
    (['DELETE', 'DOWNLOAD'] as const).map(async action => {
      const { id, key } = await app.createKey(token, { name: action, scopes: ['read'] })
      return { action, id, viewer: await credentials.authenticate(key, origin) }
    }),
  )
  await audit.flush()
  const refusal = () => new AppError('SCOPE_REQUIRED')
  // Record them without waiting, so that no write happens in between.
  for (let index = 0; index < 250; index++) {
    for (const { viewer, action } of floods) {
      const location = { providerId, path: `/${index}` }
      audit.noteRefusal(viewer, action, { location, to: location, details: { field: `f${index}` } }, refusal())
    }
  }
  for (const { action, id } of floods) {
    const found: StoredEvent[] = await logOf(app, token, { action, credentialId: id })
    const [named, rest] = [found.filter(({ path }) => path !== null), found.filter(({ path }) => path === null)]
    t.same(
      new Set(named.map(({ path }) => path)),
      new Set(Array.from({ length: 100 }, (_, index) => `/${index}`)),
      'the first hundred paths',
    )
    t.match(rest, [{ result: 'SCOPE_REQUIRED', count: 150, toPath: null, details: { locationsLeftOut: true } }])
    t.equal(rest.length, 1)
  }
})

atNight(t, 'the recipients of a link cannot make the log grow without bound', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  await app.upload(token, providerId, '/in/a.txt', 'a')
  const { id, link } = await makeShare(app, token, { providerId, path: '/in', kind: 'DROP' })
  const tries = 30
  const refusals = async () =>
    (await logOf(app, token, { credentialId: id })).filter(({ result }: { result: string }) => result !== 'OK')
  for (let index = 0; index < tries; index++) {
    t.equal((await read(app, link, `/${index}-${'x'.repeat(200)}`)).reason, 'SCOPE_REQUIRED')
    // Each failure is in a batch of its own.
    await app.app.services.audit.flush()
  }
  const found: StoredEvent[] = await refusals()
  t.equal(found.length, 11)
  t.equal(found.filter(({ path }) => path !== null).length, 10, 'the first failures name their paths')
  t.match(found[0], { path: null, count: tries - 10, details: { locationsLeftOut: true, networks: 1 } })
  const paths = Array.from({ length: 100 }, (_, index) => `/${index}-${'x'.repeat(90)}`)
  for (let index = 0; index < tries; index++) {
    const body = JSON.stringify({ paths: [...paths, `/${index}`] })
    await ask(app, link, 'archive', { method: 'POST', body })
  }
  const after: (StoredEvent & { count: number })[] = await refusals()
  t.equal(after.length, 11)
  t.equal(after.filter(({ path }) => path !== null).length, 10, 'a refused archive names no sources')
  t.equal(
    after.reduce((sum, { count }) => sum + count, 0),
    2 * tries,
    'every failure is counted',
  )
})

t.test('infected files are named apart from other failures, and counted by signature beyond a bound', async t => {
  const nobody = { userId: null, userEmail: null, userName: null, workspaceId: null }
  const nowhere = { providerId: null, providerName: null, toProviderId: null, toProviderName: null, toPath: null }
  const common = {
    ...nobody,
    ...nowhere,
    id: '',
    at: new Date(),
    bytes: null,
    count: 1,
    subjectKind: null,
    subjectId: null,
  }
  const credential = { credentialKind: 'SHARE', credentialId: 'share', credentialPrefix: null } as const
  const by = { ...credential, address: '192.0.2.1', requestId: '' }
  const failed = (result: AuditEvent['result'], path: string, details: AuditEvent['details'] = {}): AuditEvent => ({
    ...common,
    ...by,
    action: 'UPLOAD',
    result,
    path,
    details,
  })
  const infected = (path: string, signature: string) => failed('INFECTED', path, { signature })
  const limits = [new ShareFailures(), new BatchFailures()]
  for (const failures of limits) {
    const add = (event: AuditEvent) => (failures instanceof ShareFailures ? failures.add(event) : failures.limit(event))
    for (let index = 0; index < 150; index++) add(failed('TOO_LARGE', `/${index}`))
    for (let index = 0; index < 100; index++) t.match(add(infected(`/${index}`, 'A')), { path: `/${index}` })
    const later = { path: null, details: { locationsLeftOut: true, signature: 'B' } }
    t.match(add(infected('/later', 'B')), later, 'the signature stays')
  }
  const [shares] = limits
  if (!(shares instanceof ShareFailures)) return
  t.equal(shares.add(infected('/again', 'B')), null, 'counted with the other one')
  for (let index = 0; index < 50; index++) shares.add(infected('/many', `C${index}`))
  const rest = shares.grown().filter(({ result }) => result === 'INFECTED')
  t.same(
    rest.map(({ count, details }) => [count, details.signature]),
    [
      [2, 'B'],
      [31, undefined],
    ],
  )
})

atNight(t, "when too many events wait, transfers continue and the server's log counts the lost events", async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  const { audit, credentials } = app.app.services
  await audit.flush()
  const viewer = await credentials.authenticate(token, origin)
  const unlock = await lockTable(app.db, 'audit_events')
  const noted = 5000
  for (let index = 0; index < noted; index++) {
    audit.note(viewer, 'COPY', { location: { providerId, path: `/${index}${`/${'x'.repeat(1000)}`.repeat(4)}` } })
  }
  t.equal((await app.upload(token, providerId, '/beside.txt', 'content')).status, 201)
  t.equal(await (await app.download(token, providerId, '/beside.txt')).text(), 'content')
  await unlock()
  await audit.flush()
  // The lost events are logged with the next batch.
  await app.upload(token, providerId, '/after.txt', 'a')
  await audit.flush()
  const { rows } = await sql<{ action: string; count: number }>`
    select action, count(*)::int from audit_events where path <> '/' group by action`.execute(app.db)
  const written = Object.fromEntries(rows.map(({ action, count }) => [action, count]))
  const losses = app
    .logged()
    .split('\n')
    .filter(line => line.includes('"lost"'))
    .map(line => JSON.parse(line).lost)
  const lost = (action: string) => losses.reduce((sum, each) => sum + (each[action] ?? 0), 0)
  t.ok(lost('COPY') > 500 && (written.COPY ?? 0) > 2000, `${written.COPY} were written, ${lost('COPY')} lost`)
  t.equal((written.COPY ?? 0) + lost('COPY'), noted, 'each event was either written or counted as lost')
  t.equal((written.UPLOAD ?? 0) + lost('UPLOAD'), 2)
  t.equal((written.DOWNLOAD ?? 0) + lost('DOWNLOAD'), 1)
})

t.test('a download through a link is recorded with the credential that created the link', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  await app.upload(token, providerId, '/folder/a.txt', 'content')
  const restrictions = [{ providerId, basePath: '/folder' }]
  const { key, id } = await app.createKey(token, { name: 'k', scopes: ['read'], providerAccess: { restrictions } })
  const links = await app.ask(
    `query ($id: ID!) {
      file(providerId: $id, path: "/folder/a.txt") { downloadUrl }
      folder(providerId: $id, path: "/folder") { downloadUrl }
    }`,
    { id: providerId },
    key,
  )
  t.same(await logOf(app, token, { action: 'DOWNLOAD' }), [], 'creating a link is not a download')
  t.equal(await (await fetch(links.file.downloadUrl)).text(), 'content')
  t.match((await fetch(links.file.downloadUrl, { headers: { range: 'bytes=1-2' } })).status, 206)
  const archive = await (await fetch(links.folder.downloadUrl)).arrayBuffer()
  const found: StoredEvent[] = await logOf(app, token, { action: 'DOWNLOAD', credentialId: id })
  const by = { result: 'OK', credentialKind: 'API_KEY', credentialPrefix: key.slice(0, 12), address: '127.0.0.1' }
  for (const event of found) t.match(event, { ...by, userEmail: 'owner@example.org' })
  const bytesAt = (path: string) =>
    found.filter(event => event.path === path).reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)
  t.equal(bytesAt('/folder/a.txt'), 'content'.length + 2)
  t.equal(bytesAt('/folder'), archive.byteLength)
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
  t.equal((await fetch(links.file.downloadUrl)).status, 401)
  const after: StoredEvent[] = await logOf(app, token, { action: 'DOWNLOAD' })
  t.equal(after.length, found.length, 'a refused link leaves no event of its credential')
})

t.test('pages and filters return the same events as a simple model', async t => {
  const app = await startApp(t)
  const { token, providerId } = await withDisk(app)
  const other = await app.connectProvider(token, 'memory', {})
  const base = '/a'
  const restrictions = [{ providerId, basePath: base }]
  const { key } = await app.createKey(token, { name: 'k', scopes: ['admin'], providerAccess: { restrictions } })
  await app.app.services.audit.flush()
  await sql`delete from audit_events`.execute(app.db)
  const { rows } = await sql<{ id: string }>`select id from workspaces`.execute(app.db)
  const workspaceId = rows[0]?.id ?? ''
  const nextId = timeOrderedIds()
  const paths = ['/a', '/a/x', '/a0', '/a-b', '/a/\u0001\u202e', '/', '/b', null]
  const pathAt = (index: number) => paths[index % paths.length] ?? null
  const all: AuditEvent[] = Array.from({ length: 150 }, (_, index) => {
    const at = new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 3))
    const moves = index % 5 === 0
    return {
      id: nextId(at),
      workspaceId,
      at,
      action: moves ? 'MOVE' : 'DELETE',
      result: index % 4 ? 'OK' : 'NOT_FOUND',
      userId: null,
      userEmail: null,
      userName: null,
      credentialKind: null,
      credentialId: null,
      credentialPrefix: null,
      address: '::1',
      requestId: `r${index}`,
      subjectKind: null,
      subjectId: null,
      providerId: index % 11 === 0 ? null : index % 3 ? providerId : other,
      providerName: null,
      path: pathAt(index),
      toProviderId: moves ? (index % 2 ? providerId : other) : null,
      toPath: moves ? pathAt(index * 3) : null,
      toProviderName: null,
      bytes: null,
      count: 1,
      details: {},
    }
  })
  await insertAuditEvents(app.db, all)
  await insertAuditEvents(app.db, all)
  const isAt = (provider: string | null, path: string | null, wanted: string, top: string) =>
    provider === wanted && (top === '/' || (path !== null && isBelow(path, top)))
  const filters = fc.record(
    {
      action: fc.constantFrom('MOVE', 'DELETE', 'UPLOAD'),
      result: fc.constantFrom('OK', 'NOT_FOUND'),
      location: fc.record({
        provider: fc.constantFrom(providerId, other),
        top: fc.constantFrom('/', '/a', '/a/x', '/b'),
      }),
      since: fc.integer({ min: 0, max: 60 }),
      until: fc.integer({ min: 0, max: 60 }),
    },
    { requiredKeys: [] },
  )
  const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms)
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 60 }), fc.boolean(), async (given, first, isLimited) => {
      const { location, since, until, ...plain } = given
      const filter = {
        ...plain,
        ...(location && { providerId: location.provider, pathPrefix: location.top }),
        ...(since !== undefined && { since: at(since).toISOString() }),
        ...(until !== undefined && { until: at(until).toISOString() }),
      }
      const expected = all.filter(event => {
        const from = isAt(event.providerId, event.path, providerId, base)
        const to = event.toProviderId === null || isAt(event.toProviderId, event.toPath, providerId, base)
        if (isLimited && !(from && to)) return false
        if (plain.action && event.action !== plain.action) return false
        if (plain.result && event.result !== plain.result) return false
        if (since !== undefined && event.at < at(since)) return false
        if (until !== undefined && event.at >= at(until)) return false
        if (!location) return true
        const { provider, top } = location
        const ends = [
          isAt(event.providerId, event.path, provider, top),
          isAt(event.toProviderId, event.toPath, provider, top),
        ]
        return ends.some(Boolean)
      })
      const found: string[] = []
      let after: string | null = null
      for (let isMore = true; isMore; ) {
        const { auditEvents } = await app.ask(events, { first, after, filter }, isLimited ? key : token)
        found.push(...auditEvents.nodes.map((event: { id: string }) => event.id))
        after = auditEvents.pageInfo.endCursor
        isMore = auditEvents.pageInfo.hasNextPage
      }
      // The test has removed the events of its own setup; its other events are newer than these.
      t.same(
        found.filter(id => all.some(event => event.id === id)),
        expected.map(({ id }) => id).toReversed(),
      )
    }),
    { numRuns: extent({ gate: 15, nightly: 60 }) },
  )
})

import { execFile } from 'node:child_process'
import { link, mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { type AdapterDefinition, type Entry, StorageError } from '../../adapters/contract.ts'
import { atNight, extent, inTurn } from '../support/extent.ts'
import { type AdapterCall, type FaultyAdapter, faultyAdapter } from '../support/faulty-adapter.ts'
import { until } from '../support/until.ts'
import {
  control,
  create,
  ended,
  type FaultyWorld,
  fill,
  put,
  runJob,
  startFaultyWorld,
  startJob,
  startWorld,
  stateOf,
  textAt,
  tree,
} from './jobs-world.ts'

t.setTimeout(600_000)

/** Returns a function that throws for the first `times` calls of a method. */
function fails(method: string, code: 'UNAVAILABLE' | 'PERMISSION_DENIED', times: number, path?: string) {
  let left = times
  return (call: AdapterCall) => {
    if (call.method !== method || (path !== undefined && call.path !== path) || left === 0) return
    left -= 1
    throw new StorageError(code, 'The test makes this call fail.')
  }
}

atNight(t, 'all failures can be listed and retried, however many they are', async t => {
  const world = await startFaultyWorld(t)
  const { app, token, a, rootA, faults, faulty } = world
  const names = Array.from({ length: 1100 }, (_, index) => `${index}`)
  await mkdir(join(rootA, 'f/sub'), { recursive: true })
  await Promise.all(names.map(name => writeFile(join(rootA, 'f/sub', name), name)))
  await fill(rootA, { 'f/fine.txt': 'fine' })
  faults.before = ({ method, path }) => {
    if (method === 'write' && path.includes('/sub/')) throw new StorageError('PERMISSION_DENIED', 'Closed.')
  }
  for (const conflict of ['FAIL', 'RENAME']) {
    const target = { providerId: faulty, path: `/${conflict}` }
    const job = await runJob(world, { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target, conflict })
    t.match(job, { state: 'FAILED', progress: { files: 1, failed: 1100, totalFiles: 1101 } })
    const page =
      'query ($id: ID!, $after: String) { job(id: $id) { failures(first: 1000, after: $after) { nodes { path } pageInfo { endCursor } } } }'
    const first = (await app.ask(page, { id: job.id }, token)).job.failures
    const second = (await app.ask(page, { id: job.id, after: first.pageInfo.endCursor }, token)).job.failures
    const paths = [...first.nodes, ...second.nodes].map(({ path }) => path)
    t.same(paths.toSorted(), names.map(name => `/f/sub/${name}`).toSorted())
    const closed = faults.before
    faults.before = () => {}
    await control(world, 'retryJob', job.id)
    t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { files: 1101, failed: 0, totalFiles: 1101 } })
    faults.before = closed
    t.equal(await textAt(world, `/${conflict}/f/sub/1099`), '1099')
    t.notOk(
      faults.calls.some(({ path }) => path === `${conflict}/f (1)`),
      'nothing is copied twice',
    )
  }
})

atNight(t, 'a retry continues a folder at the page that failed', async t => {
  const world = await startFaultyWorld(t)
  const { b, rootB, faults, faulty } = world
  await put(faults, 'f/a folder/1.txt', 'one')
  for (let index = 0; index < 1500; index++) await put(faults, `f/file ${index}`, `${index}`)
  faults.before = ({ method, cursor }) => {
    if (method === 'list' && cursor !== undefined) throw new StorageError('PERMISSION_DENIED', 'Closed.')
  }
  const input = { kind: 'COPY', sources: [{ providerId: faulty, path: '/f' }], target: { providerId: b, path: '/' } }
  const job = await runJob(world, input)
  t.match(job, { state: 'FAILED', failures: { nodes: [{ path: '/f', reason: 'BACK_END_REFUSED' }] } })
  faults.before = () => {}
  await control(world, 'retryJob', job.id)
  t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { files: 1501, failed: 0 } })
  t.equal(Object.keys(await tree(rootB)).length, 1501)

  await rm(join(rootB, 'f'), { recursive: true })
  let isExpired = false
  faults.before = ({ method, cursor }) => {
    if (method !== 'list' || cursor === undefined) return
    if (!isExpired) throw new StorageError('PERMISSION_DENIED', 'Closed.')
    throw new StorageError('UNAVAILABLE', 'The cursor has expired.')
  }
  const again = await runJob(world, input)
  isExpired = true
  await control(world, 'retryJob', again.id)
  // After the restart, the second page has a cursor of this run.
  await until(() => faults.calls.filter(({ method }) => method === 'list').length > 3)
  faults.before = () => {}
  t.match(await ended(world, again.id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.equal(Object.keys(await tree(rootB)).length, 1501, 'also if the cursor has expired')
})

atNight(t, 'a request that was carried out is not an obstacle for its retry', async t => {
  const world = await startFaultyWorld(t)
  const { a, rootA, faults, faulty } = world
  await fill(rootA, { 'f/sub/1.txt': 'one', 'f/2.txt': 'two' })
  const cases = (
    [
      ['write', 'f/2.txt'],
      ['mkdir', 'f'],
      ['mkdir', 'f/sub'],
    ] as const
  ).flatMap(([method, path]) =>
    ['FAIL', 'RENAME'].flatMap(conflict => ['COPY', 'MOVE'].map(kind => ({ method, path, conflict, kind }))),
  )
  // In `npm test`, each request, each conflict and each kind once or twice.
  const chosen = extent({ gate: cases.filter((_, index) => index % 3 === 0), nightly: cases })
  for (const { method, path, conflict, kind } of chosen) {
    const folder = `${method} ${path.replace('/', ' ')} ${conflict} ${kind}`
    faults.after = fails(method, 'UNAVAILABLE', 1, `${folder}/${path}`)
    const target = { providerId: faulty, path: `/${folder}` }
    const job = await runJob(world, { kind, sources: [{ providerId: a, path: '/f' }], target, conflict })
    t.match(job, { state: 'SUCCEEDED', progress: { files: 2, failed: 0 } }, folder)
    t.same([await textAt(world, `/${folder}/f/sub/1.txt`), await textAt(world, `/${folder}/f/2.txt`)], ['one', 'two'])
    t.equal(await namesIn(world, `/${folder}`), 'f')
    t.equal(await namesIn(world, `/${folder}/f`), '2.txt,sub')
    await fill(rootA, { 'f/sub/1.txt': 'one', 'f/2.txt': 'two' })
  }
})

atNight(t, 'neither is one that was carried out under a random name', async t => {
  const world = await startFaultyWorld(t)
  const { a, rootA, faults, faulty } = world
  await fill(rootA, { 'f/1.txt': 'one', 'g.txt': 'two' })
  for (let number = 0; number <= 20; number++) {
    const suffix = number === 0 ? '' : ` (${number})`
    await put(faults, `to/f${suffix}/taken`, '')
    await put(faults, `to/g${suffix}.txt`, '')
  }
  const lost = new Set<string>()
  faults.after = ({ method, path }) => {
    if (!/^to\/[fg] \([0-9a-z]{4}\)(\.txt)?$/.test(path) || !['mkdir', 'write'].includes(method)) return
    if (lost.has(method)) return
    lost.add(method)
    throw new StorageError('UNAVAILABLE', 'The test loses this response.')
  }
  const sources = ['/f', '/g.txt'].map(path => ({ providerId: a, path }))
  const target = { providerId: faulty, path: '/to' }
  const job = await runJob(world, { kind: 'COPY', sources, target, conflict: 'RENAME' })
  t.match(job, { state: 'SUCCEEDED', progress: { files: 2, failed: 0 } })
  t.same([...lost].toSorted(), ['mkdir', 'write'])
  const names = (await namesIn(world, '/to')).split(',').filter(name => /\([0-9a-z]{4}\)/.test(name))
  t.match(names, [/^f \(....\)$/, /^g \(....\)\.txt$/])
  t.equal(names.length, 2, 'nothing is copied twice')
})

async function namesIn({ app, token, faulty }: FaultyWorld, path: string): Promise<string> {
  const query =
    'query ($id: ID!, $path: String!) { folder(providerId: $id, path: $path) { entries { nodes { name } } } }'
  const { folder } = await app.ask(query, { id: faulty, path }, token)
  const names = folder.entries.nodes.map(({ name }: { name: string }) => name)
  return names.toSorted().join()
}

atNight(t, 'a job starts although the back end is down for some seconds', async t => {
  const world = await startFaultyWorld(t)
  const { b, rootB, faults, faulty } = world
  await put(faults, 'f/1.txt', 'one')
  faults.before = fails('stat', 'UNAVAILABLE', 2, '')
  const input = { kind: 'SYNC', sources: [{ providerId: faulty, path: '/f' }], target: { providerId: b, path: '/' } }
  t.match(await runJob(world, input), { state: 'SUCCEEDED', progress: { files: 1 } })
  t.same(await tree(rootB), { 'f/1.txt': 'one' })
})

atNight(t, 'the file at the target decides, and not its entry in an old listing', async t => {
  const world = await startFaultyWorld(t)
  const { a, rootA, faults, faulty } = world
  for (const [conflict, older, appears] of [
    ['NEWER', 'older', undefined],
    ['SKIP', undefined, 'new'],
    ['NEWER', undefined, 'new'],
  ] as const) {
    const folder = `${conflict} ${older}`
    await put(faults, `${folder}/f/other`, 'other')
    if (older) await put(faults, `${folder}/f/1.txt`, older)
    await fill(rootA, { 'f/1.txt': 'source' })
    const later = new Date(Date.now() + 60_000)
    await utimes(join(rootA, 'f/1.txt'), later, later)
    let isListed = false
    faults.after = async ({ method, path }) => {
      if (method !== 'list' || path !== `${folder}/f` || isListed) return
      isListed = true
      // The target becomes newer than the source after it was listed.
      const past = new Date(Date.now() - 60_000)
      await utimes(join(rootA, 'f/1.txt'), past, past)
      await put(faults, `${folder}/f/1.txt`, appears ?? 'newer')
    }
    const target = { providerId: faulty, path: `/${folder}` }
    const job = await runJob(world, { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target, conflict })
    t.match(job, { state: 'SUCCEEDED', progress: { files: 0, skipped: 1, failed: 0 } }, folder)
    t.equal(await textAt(world, `/${folder}/f/1.txt`), appears ?? 'newer')
  }
})

atNight(t, 'a MOVE lists a folder that it leaves for a reason that nothing else shows', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fill(rootA, { 'f/deep/1.txt': 'one', 'g/deep/2.txt': 'two', 'h/deep/3.txt': 'three' })
  await promisify(execFile)('mkfifo', [join(rootA, 'f/deep/pipe')])
  await fill(rootB, { 'f/other': 'keeps the folder', 'g/deep/2.txt': 'taken', 'h/deep/3.txt/x': 'in the way' })
  const input = (path: string) => ({
    kind: 'MOVE',
    sources: [{ providerId: a, path }],
    target: { providerId: b, path: '/' },
    conflict: 'SKIP',
  })
  const job = await runJob(world, input('/f'))
  t.match(job, { state: 'FAILED', progress: { files: 1, failed: 1 } })
  t.match(job.failures.nodes, [{ path: '/f/deep', reason: 'NOT_EMPTY' }])
  await rm(join(rootA, 'f/deep/pipe'))
  await control(world, 'retryJob', job.id)
  t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { files: 1, failed: 0 } })
  t.same(Object.keys(await tree(rootA)), ['g/deep/2.txt', 'h/deep/3.txt'])

  t.match(await runJob(world, input('/g')), { state: 'SUCCEEDED', progress: { files: 0, skipped: 1 } })
  const third = await runJob(world, input('/h'))
  t.match(third, { state: 'FAILED', progress: { failed: 1 } })
  t.match(third.failures.nodes, [{ path: '/h/deep/3.txt' }])
  await rm(join(rootB, 'h'), { recursive: true })
  await control(world, 'retryJob', third.id)
  t.match(await ended(world, third.id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.same(Object.keys(await tree(rootA)), ['g/deep/2.txt'], 'the folders above are deleted, too')
})

atNight(t, 'a DELETE lists each failure once, and counts each deletion once', async t => {
  const world = await startFaultyWorld(t)
  const { faults, faulty } = world
  for (const path of ['f/1', 'f/a/2', 'f/a/b/3', 'f/a/b/4']) await put(faults, path, path)
  faults.before = fails('delete', 'PERMISSION_DENIED', 1, 'f/a/b/3')
  const job = await runJob(world, { kind: 'DELETE', sources: [{ providerId: faulty, path: '/f' }] })
  t.match(job, { state: 'FAILED', progress: { deleted: 3, failed: 1 } })
  t.match(job.failures.nodes, [{ path: '/f/a/b/3', reason: 'BACK_END_REFUSED' }])
  faults.calls.length = 0
  await control(world, 'retryJob', job.id)
  t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { deleted: 7, failed: 0 } })
  t.notOk(
    faults.calls.some(({ method }) => method === 'list'),
    'the retry lists no folder again',
  )
})

atNight(t, 'a folder is not moved onto itself through another provider', async t => {
  const world = await startWorld(t)
  const { app, token, a, rootA } = world
  await fill(rootA, { 'x/q/1.txt': 'one' })
  await mkdir(join(rootA, 'x/q/empty'))
  const nested = await app.connectProvider(token, 'local', { root: join(rootA, 'x') }, 'nested')
  for (const conflict of ['FAIL', 'SKIP', 'REPLACE', 'NEWER']) {
    const input = { kind: 'MOVE', sources: [{ providerId: nested, path: '/q' }], target: { providerId: a, path: '/x' } }
    const job = await runJob(world, { ...input, conflict })
    t.match(job, { state: 'FAILED', failures: { nodes: [{ path: '/q', reason: 'ALREADY_EXISTS' }] } }, conflict)
  }
  t.same(await tree(rootA), { 'x/q/1.txt': 'one', 'x/q/empty': null })
})

atNight(t, 'a move that was killed between linking and unlinking is finished', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, a, rootA } = world
  await fill(rootA, { 'f/1.txt': 'one', 'f/2.txt': 'two', 'g/other': 'keeps the folder', 'g/h': 'other' })
  const input = { kind: 'MOVE', sources: [{ providerId: a, path: '/f/1.txt' }], target: { providerId: a, path: '/g' } }
  const id = await startJob(world, input)
  await link(join(rootA, 'f/1.txt'), join(rootA, 'g/1.txt'))
  await sql`update job_entries set is_started = true`.execute(app.db)
  await app.replica({ settings: { workers: 1 } })
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } })
  t.same(await tree(rootA), { 'f/2.txt': 'two', 'g/1.txt': 'one', 'g/other': 'keeps the folder', 'g/h': 'other' })
})

atNight(t, 'a retry needs room for one more job', async t => {
  const world = await startWorld(t, { settings: { workers: 1 } })
  const { app, token, a, b } = world
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/no' }], target: { providerId: b, path: '/' } }
  const job = await runJob(world, input)
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, conflict) select gen_random_uuid(), workspace_id, user_id, 'SESSION', gen_random_uuid(), '', '', 'DELETE',
      'PAUSED', '[]', 'FAIL' from members, generate_series(1, 100)`.execute(app.db)
  const reasonOf = async (mutation: string, variables: Record<string, unknown>) =>
    (await app.graphql(mutation, variables, token)).errors[0]?.extensions.reason
  t.equal(await reasonOf('mutation ($id: ID!) { retryJob(id: $id) { id } }', { id: job.id }), 'TOO_MANY_JOBS')
  t.equal(await reasonOf(create, { input }), 'TOO_MANY_JOBS')
  t.equal(await stateOf(world, job.id), 'FAILED')
})

atNight(t, 'the audit log has the end of a job that was canceled before it ran', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, token, a } = world
  const id = await startJob(world, { kind: 'DELETE', sources: [{ providerId: a, path: '/f' }] })
  t.equal(await control(world, 'cancelJob', id), 'CANCELED')
  await app.app.services.audit.flush()
  const query = '{ auditEvents(filter: { action: JOB_END }) { nodes { subjectId details } } }'
  t.match((await app.ask(query, {}, token)).auditEvents.nodes, [{ subjectId: id, details: { state: 'CANCELED' } }])
})

atNight(t, 'the audit log has the end of a job that was to be canceled when its server was killed', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, token, a } = world
  const id = await startJob(world, { kind: 'DELETE', sources: [{ providerId: a, path: '/f' }] })
  // As a killed server leaves it.
  await sql`update jobs set state = 'RUNNING', requested = 'CANCEL', started_at = now(), lease_id = gen_random_uuid(),
    lease_until = now() - interval '1 second'`.execute(app.db)
  const replica = await app.replica({ settings: { workers: 1 } })
  await until(async () => (await stateOf(world, id)) === 'CANCELED')
  const query = '{ auditEvents(filter: { action: JOB_END }) { nodes { subjectId path details } } }'
  await until(async () => {
    await replica.app.services.audit.flush()
    return (await app.ask(query, {}, token)).auditEvents.nodes.length > 0
  })
  t.match((await app.ask(query, {}, token)).auditEvents.nodes, [
    { subjectId: id, path: '/f', details: { kind: 'DELETE', state: 'CANCELED' } },
  ])
})

/** Entries have the times of a clock that is an hour behind, and copies do not keep the times of their sources. */
function withClockBehind(adapter: FaultyAdapter): AdapterDefinition {
  const late = <E extends Entry>(entry: E): E =>
    entry.modifiedAt ? { ...entry, modifiedAt: new Date(entry.modifiedAt.getTime() - 3_600_000) } : entry
  return {
    ...(adapter as AdapterDefinition),
    async open(config, host) {
      const provider = await adapter.open(config as { name: string }, host)
      return {
        traits: { emptyDirectories: true },
        stat: async (path, options) => late(await provider.stat(path, options)),
        async list(path, options) {
          const page = await provider.list(path, options)
          return { ...page, entries: page.entries.map(late) }
        },
        async read(path, options) {
          const { body, entry } = await provider.read(path, options)
          return { body, entry: late(entry) }
        },
        write: async (path, body, { modifiedAt: _kept, ...options }) => late(await provider.write(path, body, options)),
        delete: (path, options) => provider.delete(path, options),
        mkdir: (path, options) => provider.mkdir(path, options),
      }
    },
  }
}

atNight(t, 'copies of an interrupted run are recognized although the clock of the target is behind', async t => {
  const faults = faultyAdapter()
  const world = await startWorld(t, {
    adapters: folder => [
      localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }),
      withClockBehind(faults),
    ],
  })
  const { app, token, a, rootA } = world
  const target = await app.connectProvider(token, 'faulty', { name: 'behind' }, 'behind')
  await fill(rootA, { 'f/1.txt': 'one', 'f/2.txt': 'two' })
  const past = new Date('2001-02-03T04:05:06Z')
  for (const name of ['1.txt', '2.txt']) await utimes(join(rootA, 'f', name), past, past)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const isWriteOf = (name: string) => (call: AdapterCall) => call.method === 'write' && call.path === `f/${name}`
  let isCopied = false
  faults.before = call => (isWriteOf('2.txt')(call) ? released : undefined)
  faults.after = call => {
    isCopied ||= isWriteOf('1.txt')(call)
  }
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target: { providerId: target, path: '/' } }
  const id = await startJob(world, input)
  await until(() => isCopied)
  faults.before = () => {}
  await sql`update jobs set lease_id = gen_random_uuid(), lease_until = now() - interval '1 second'`.execute(app.db)
  const job = await ended(world, id)
  release()
  t.match(job, { state: 'SUCCEEDED', progress: { files: 2, failed: 0 } })
  t.equal(faults.calls.filter(isWriteOf('1.txt')).length, 1)
})

for (const interruption of inTurn(['kill', 'pause'])) {
  t.test(`a MOVE counts each file once, also after a ${interruption}`, async t => {
    const world = await startFaultyWorld(t)
    const { app, a, rootA, faults, faulty } = world
    const names = [1, 2, 3, 4, 5].map(n => `f/${n}.txt`)
    await fill(rootA, Object.fromEntries(names.map(name => [name, 'text'])))
    // Two files of the page are moved, and the page is never finished.
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    faults.before = ({ method, path }) => (method === 'write' && /[345]\.txt$/.test(path) ? released : undefined)
    const input = { kind: 'MOVE', sources: [{ providerId: a, path: '/f' }], target: { providerId: faulty, path: '/' } }
    const id = await startJob(world, input)
    await until(async () => {
      const { rows } = await sql<{ n: number }>`select pending_files::int as n from jobs`.execute(app.db)
      return rows[0]?.n === 2 || rows
    })
    if (interruption === 'pause') {
      await control(world, 'pauseJob', id)
      await until(async () => (await stateOf(world, id)) === 'PAUSED')
      const query = 'query ($id: ID!) { job(id: $id) { progress { files bytes } } }'
      t.same((await app.ask(query, { id }, world.token)).job.progress, { files: 2, bytes: 8 })
      faults.before = () => {}
      await control(world, 'resumeJob', id)
    } else {
      // The lease of the first server has ended, and another one takes the job.
      await sql`update jobs set lease_id = gen_random_uuid(), lease_until = now() - interval '1 second'`.execute(app.db)
      faults.before = () => {}
      await app.replica()
    }
    const job = await ended(world, id)
    release()
    t.match(job, { state: 'SUCCEEDED', progress: { files: 5, bytes: 20, failed: 0, skipped: 0 } })
    t.same(await tree(rootA), {})
  })
}

t.test('jobs that a credential does not see do not end its list', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, token, a } = world
  const sources = [{ providerId: a, path: '/visible' }]
  const id = await startJob(world, { kind: 'DELETE', sources })
  await sql`update jobs set state = 'CANCELED'`.execute(app.db)
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, conflict) select ('f0000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, workspace_id, user_id, 'SESSION',
      gen_random_uuid(), '', '', 'DELETE', 'CANCELED', ${JSON.stringify([{ providerId: a, path: '/hidden' }])}, 'FAIL'
      from members, generate_series(1, 1100) n`.execute(app.db)
  const { key, id: keyId } = await app.createKey(token, {
    name: 'narrow',
    scopes: ['read'],
    providerAccess: { restrictions: [{ providerId: a, basePath: '/visible' }] },
  })
  await sql`update jobs set credential_kind = 'API_KEY', credential_id = ${keyId}`.execute(app.db)
  const query = 'query ($after: String) { jobs(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }'
  const found: string[] = []
  let page = (await app.ask(query, {}, key)).jobs
  for (; ; page = (await app.ask(query, { after: page.pageInfo.endCursor }, key)).jobs) {
    found.push(...page.nodes.map((job: { id: string }) => job.id))
    if (!page.pageInfo.hasNextPage) break
  }
  t.same(found, [id])
})

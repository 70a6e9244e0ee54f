/** The mutations `copy`, `move` and `delete` on folders, which jobs carry out. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { StorageError, type StoragePath } from '../../adapters/contract.ts'
import type { TestApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'
import type { AdapterCall } from '../support/faulty-adapter.ts'
import { until } from '../support/until.ts'
import { control, ended, type FaultyWorld, fill, put, startFaultyWorld, stateOf, textAt, tree } from './jobs-world.ts'
import { providerClient } from './transfers.ts'

t.setTimeout(300_000)

const mutations = {
  copy: 'mutation ($input: CopyInput!) { copy(input: $input) { path } }',
  move: 'mutation ($input: MoveInput!) { move(input: $input) { path } }',
  delete: 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
}

const files = { 'f/1.txt': 'one', 'f/sub/2.txt': 'two', 'f/sub/deep/3.txt': 'three' }
const copied = { '1.txt': 'one', 'sub/2.txt': 'two', 'sub/deep/3.txt': 'three' }

/** Runs a mutation and resolves with its first error, or with null. */
async function errorOf({ token }: FaultyWorld, app: TestApp, name: keyof typeof mutations, input: object) {
  const { errors } = await app.graphql(mutations[name], { input }, token)
  return errors[0] ?? null
}

/** Fails one call to the faulty provider. */
function refuse(method: string, path: string) {
  return (call: AdapterCall) => {
    if (call.method === method && call.path === path) throw new StorageError('PERMISSION_DENIED', 'Closed.')
  }
}

async function putAll({ faults }: FaultyWorld, entries: Record<string, string> = files): Promise<void> {
  for (const [path, text] of Object.entries(entries)) await put(faults, path, text)
}

/** Returns the paths of all files of the faulty provider, and of its empty folders. */
async function namesIn({ app, token, faulty }: FaultyWorld, path = '/'): Promise<string[]> {
  const query =
    'query ($id: ID!, $path: String!) { folder(providerId: $id, path: $path) { entries { nodes { __typename path } } } }'
  const { folder } = await app.ask(query, { id: faulty, path }, token)
  const inner: string[][] = await Promise.all(
    folder.entries.nodes.map(async (node: { __typename: string; path: string }) => {
      const below = node.__typename === 'Folder' ? await namesIn({ app, token, faulty } as FaultyWorld, node.path) : []
      return below.length > 0 ? below : [node.path]
    }),
  )
  return inner.flat().toSorted()
}

async function jobsOf({ app, token }: FaultyWorld) {
  const query = '{ jobs { nodes { id kind state progress { files deleted failed } } } }'
  return (await app.ask(query, {}, token)).jobs.nodes
}

atNight(t, 'a copy that fails leaves nothing, says why, and can be retried', async t => {
  const world = await startFaultyWorld(t)
  const { app, a, rootA, faults, faulty } = world
  await fill(rootA, files)
  faults.before = refuse('write', 'g/sub/deep/3.txt')
  const input = { providerId: a, path: '/f', toProviderId: faulty, toPath: '/g' }
  const error = await errorOf(world, app, 'copy', input)
  t.match(error, { extensions: { code: 'FORBIDDEN', reason: 'BACK_END_REFUSED', jobId: /-/ } })
  t.same(await namesIn(world), [])
  const id = String(error?.extensions.jobId)
  const job = await ended(world, id)
  t.match(job, { state: 'FAILED', progress: { files: 0, bytes: 0, failed: 1 } })
  t.match(job.failures.nodes, [{ path: '/f/sub/deep/3.txt', reason: 'BACK_END_REFUSED' }])
  faults.before = () => {}
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { files: 3, failed: 0 } })
  t.same(
    await namesIn(world),
    Object.keys(copied).map(path => `/g/${path}`),
  )
  const { rows } = await sql`select state from job_entries`.execute(app.db)
  t.same(rows, [], 'no entry is left')
})

atNight(t, 'a copy whose response was lost is found, to be kept or undone', async t => {
  const world = await startFaultyWorld(t)
  const { app, a, rootA, faults, faulty } = world
  await fill(rootA, files)
  for (const fails of [false, true]) {
    let isLost = false
    faults.after = ({ method, path }) => {
      if (method !== 'write' || path !== 'g/1.txt' || isLost) return
      isLost = true
      throw new StorageError('UNAVAILABLE', 'The response is lost.')
    }
    faults.before = fails ? refuse('write', 'g/sub/2.txt') : () => {}
    const error = await errorOf(world, app, 'copy', { providerId: a, path: '/f', toProviderId: faulty, toPath: '/g' })
    t.ok(isLost)
    if (fails) {
      t.match(error, { extensions: { reason: 'BACK_END_REFUSED' } })
      t.same(await namesIn(world), [])
      continue
    }
    t.equal(error, null)
    t.equal((await namesIn(world)).length, 3)
    t.equal(await errorOf(world, app, 'delete', { providerId: faulty, path: '/g', recursive: true }), null)
  }
})

atNight(t, 'a move that fails leaves the source whole, and can be retried', async t => {
  const world = await startFaultyWorld(t)
  const { app, a, rootA, faults, faulty } = world
  await fill(rootA, files)
  faults.before = refuse('mkdir', 'g/sub/deep')
  const error = await errorOf(world, app, 'move', { providerId: a, path: '/f', toProviderId: faulty, toPath: '/g' })
  t.match(error, { extensions: { reason: 'BACK_END_REFUSED' } })
  t.same(await namesIn(world), [])
  t.same(await tree(rootA), files)
  faults.before = () => {}
  const id = String(error?.extensions.jobId)
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { files: 3, failed: 0 } })
  t.same(await tree(rootA), {})
  t.equal(await textAt(world, '/g/sub/deep/3.txt'), 'three')
})

atNight(t, 'a folder whose listing fails after it was created is undone, too', async t => {
  const world = await startFaultyWorld(t)
  const { app, b, rootB, faults, faulty } = world
  await putAll(world)
  faults.before = refuse('list', 'f/sub/deep')
  const input = { providerId: faulty, path: '/f', toProviderId: b, toPath: '/g' }
  t.match(await errorOf(world, app, 'copy', input), { extensions: { reason: 'BACK_END_REFUSED' } })
  t.same(await tree(rootB), {})
})

t.test('once everything is copied, a move undoes nothing', async t => {
  const world = await startFaultyWorld(t)
  const { app, b, rootB, faults, faulty } = world
  await putAll(world)
  faults.before = refuse('delete', 'f/sub/2.txt')
  const error = await errorOf(world, app, 'move', { providerId: faulty, path: '/f', toProviderId: b, toPath: '/g' })
  t.match(error, { extensions: { reason: 'BACK_END_REFUSED' } })
  t.same(await tree(join(rootB, 'g')), copied)
  t.same(await namesIn(world), ['/f/sub/2.txt'])
  faults.before = () => {}
  const id = String(error?.extensions.jobId)
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.same(await namesIn(world), [])
  t.same(await tree(join(rootB, 'g')), copied)
})

atNight(t, 'a folder that was not empty is deleted by a retry of the move', async t => {
  const world = await startFaultyWorld(t)
  const { app, b, rootB, faults, faulty } = world
  await putAll(world)
  let isAdded = false
  faults.before = async ({ method, path }) => {
    if (method !== 'delete' || path !== 'f/sub/2.txt' || isAdded) return
    isAdded = true
    await put(faults, 'f/sub/late.txt', 'late')
  }
  const error = await errorOf(world, app, 'move', { providerId: faulty, path: '/f', toProviderId: b, toPath: '/g' })
  t.match(error, { message: /^"\/f" is copied, but/, extensions: { reason: 'PRECONDITION_FAILED' } })
  t.same(await namesIn(world), ['/f/sub/late.txt'])
  await faults.files('faulty').delete('f/sub/late.txt' as StoragePath, { signal: new AbortController().signal })
  const id = String(error?.extensions.jobId)
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.same(await namesIn(world), [])
  t.same(await tree(join(rootB, 'g')), copied)
})

const stops = [
  ['copies', 'read', 'f/sub/2.txt'],
  ['deletes the sources', 'delete', 'f/sub/2.txt'],
] as const
for (const [what, method, path] of extent({ gate: stops.slice(0, 1), nightly: [...stops] })) {
  t.test(`another server finishes the move of one that stops while it ${what}`, async t => {
    const world = await startFaultyWorld(t)
    const { app, b, rootB, faults, faulty } = world
    await putAll(world)
    const replica = await app.replica()
    const { promise: reached, resolve: onReached } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let isFirst = true
    faults.before = async call => {
      if (call.method !== method || call.path !== path || !isFirst) return
      isFirst = false
      onReached()
      await released
    }
    const moving = errorOf(world, app, 'move', { providerId: faulty, path: '/f', toProviderId: b, toPath: '/g' })
    await reached
    const closing = app.close()
    const error = await moving
    t.match(error, { message: /goes on/, extensions: { reason: 'UNAVAILABLE', jobId: /-/ } })
    release()
    await closing
    const after = { ...world, app: replica }
    t.match(await ended(after, String(error?.extensions.jobId)), { state: 'SUCCEEDED', progress: { failed: 0 } })
    t.same(await tree(join(rootB, 'g')), copied, 'nothing is lost')
    t.same(await namesIn(after), [])
  })
}

atNight(t, 'a server without workers runs what its requests wait for', async t => {
  const world = await startFaultyWorld(t, { settings: { workers: 0 } })
  const { app, a, b, rootA, rootB } = world
  await fill(rootA, files)
  const input = { providerId: a, path: '/f', toProviderId: b, toPath: '/g' }
  t.equal(await errorOf(world, app, 'copy', input), null)
  t.same(await tree(join(rootB, 'g')), copied)
  t.equal(await errorOf(world, app, 'move', { ...input, toPath: '/h' }), null)
  t.same(await tree(rootA), {})
  t.equal(await errorOf(world, app, 'delete', { providerId: b, path: '/h', recursive: true }), null)
  t.same(
    Object.keys(await tree(rootB)).toSorted(),
    Object.keys(copied)
      .map(path => `g/${path}`)
      .toSorted(),
  )
})

atNight(t, 'a delete stops at the first failure, and a retry deletes the rest', async t => {
  const world = await startFaultyWorld(t)
  const { app, faults, faulty } = world
  await putAll(world)
  faults.before = refuse('delete', 'f/sub/deep/3.txt')
  const error = await errorOf(world, app, 'delete', { providerId: faulty, path: '/f', recursive: true })
  t.match(error, { extensions: { reason: 'BACK_END_REFUSED' } })
  faults.before = () => {}
  const id = String(error?.extensions.jobId)
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.same(await namesIn(world), [])
})

atNight(t, 'a mutation ends when its job is paused or canceled', async t => {
  const world = await startFaultyWorld(t)
  const { app, a, rootA, faults, faulty } = world
  await fill(rootA, files)
  for (const [mutation, state, message] of [
    ['pauseJob', 'PAUSED', /is paused: resume it/],
    ['cancelJob', 'CANCELED', /was canceled/],
  ] as const) {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    faults.before = ({ method }) => (method === 'write' ? released : undefined)
    const input = { providerId: a, path: '/f', toProviderId: faulty, toPath: `/${state}` }
    const copying = errorOf(world, app, 'copy', input)
    await until(async () => (await jobsOf(world))[0]?.state === 'RUNNING')
    const [{ id }] = await jobsOf(world)
    await control(world, mutation, id)
    await until(async () => (await stateOf(world, id)) === state)
    release()
    t.match(await copying, { message, extensions: { reason: 'PRECONDITION_FAILED', jobId: id } })
    if (state !== 'PAUSED') continue
    faults.before = () => {}
    await control(world, 'resumeJob', id)
    t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { files: 3 } })
    t.equal(await textAt(world, '/PAUSED/sub/2.txt'), 'two')
  }
})

atNight(t, 'a mutation that cannot have a job leaves no folder', async t => {
  const world = await startFaultyWorld(t, { settings: { workers: 0 } })
  const { app, a, b, rootA, rootB } = world
  await fill(rootA, files)
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, conflict) select gen_random_uuid(), workspace_id, user_id, 'SESSION', gen_random_uuid(), '', '', 'DELETE',
      'PAUSED', '[]', 'FAIL' from members, generate_series(1, 100)`.execute(app.db)
  await mkdir(join(rootB, 'mine'))
  for (const toPath of ['/g', '/mine']) {
    const input = { providerId: a, path: '/f', toProviderId: b, toPath, conflict: 'REPLACE' }
    t.match(await errorOf(world, app, 'copy', input), { extensions: { reason: 'TOO_MANY_JOBS' } })
  }
  t.same(await tree(rootB), { mine: null })
})

atNight(t, 'the audit log has the mutation, and the creation and the end of its job', async t => {
  const world = await startFaultyWorld(t)
  const { app, token, a, b, rootA } = world
  await fill(rootA, files)
  t.equal(await errorOf(world, app, 'copy', { providerId: a, path: '/f', toProviderId: b, toPath: '/g' }), null)
  const [{ id }] = await jobsOf(world)
  const query = `{ auditEvents(first: 3) { nodes { action result path toPath subjectId details } } }`
  await until(async () => {
    await app.app.services.audit.flush()
    const { nodes } = (await app.ask(query, {}, token)).auditEvents
    const actions = nodes.map(({ action }: { action: string }) => action).toSorted()
    return `${actions}` === 'COPY,JOB_CREATE,JOB_END' || nodes
  })
  for (const event of (await app.ask(query, {}, token)).auditEvents.nodes) {
    t.match(event, { result: 'OK', path: '/f', toPath: '/g', subjectId: id }, event.action)
    if (event.action === 'JOB_END') t.match(event.details, { kind: 'COPY', state: 'SUCCEEDED', files: 3 })
  }
})

atNight(t, 'many folders are copied at once', async t => {
  const world = await startFaultyWorld(t)
  const { app, token, a, b, rootA, rootB } = world
  await fill(rootA, files)
  const local = providerClient(app, token, a)
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, n) => local.run('copy', { path: '/f', toProviderId: b, toPath: `/copy ${n}` })),
  )
  t.same(
    results.map(result => (result as { path: string }).path),
    Array.from({ length: 40 }, (_, n) => `/copy ${n}`),
  )
  for (let n = 0; n < 40; n += 1) t.same(await tree(join(rootB, `copy ${n}`)), copied)
})

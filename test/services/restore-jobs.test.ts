/** A RESTORE brings a folder back as it was at a time, from versions and the trash, and says before what it will do. */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import {
  create,
  ended,
  fill,
  put as putFaulty,
  runJob,
  startFaultyWorld,
  startJob,
  textAt,
  tree,
} from './jobs-world.ts'

const settings = { versionCount: 20, versionDays: 30 }
const world = await startFaultyWorld(t, { settings })
const { app, token, a, rootA, faults, faulty } = world
const update = async (id: string, input: object) =>
  app.ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
    { input: { id, ...input } },
    token,
  )

/** Returns a time that is after everything that was done before, and before everything that is done next. */
async function moment(): Promise<string> {
  const time = Date.now() + 1
  await until(() => Date.now() > time)
  return new Date(time).toISOString()
}

async function put(path: string, content: string, providerId = a): Promise<void> {
  const response = await app.upload(token, providerId, path, content, '&conflict=replace')
  if (!response.ok) throw new Error(await response.text())
}

const remove = (path: string, providerId = a) =>
  app.ask(
    'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
    { input: { providerId, path, recursive: true } },
    token,
  )

const restore = (restoreAt: string, path: string, more: object = {}) =>
  runJob(world, { kind: 'RESTORE', sources: [{ providerId: a, path }], restoreAt, ...more })

async function stepsOf(id: string): Promise<string[]> {
  const query = `query ($id: ID!, $after: String) { job(id: $id) { restoreSteps(first: 2, after: $after) {
    nodes { action path isFolder size goneAt } pageInfo { hasNextPage endCursor } } } }`
  const steps: string[] = []
  for (let after: string | null = null; ; ) {
    const { nodes, pageInfo }: Data = (await app.ask(query, { id, after }, token)).job.restoreSteps
    steps.push(...nodes.map(({ action, path, isFolder }: Data) => `${action} ${path}${isFolder ? '/' : ''}`))
    if (!pageInfo.hasNextPage) return steps.sort()
    after = pageInfo.endCursor
  }
}

t.test('what was replaced, deleted and created since', async t => {
  for (const [path, content] of Object.entries({ a: '1', gone: 'g', 'sub/b': 'b', same: 's' }))
    await put(`/docs/${path}`, content)
  const before = await tree(join(rootA, 'docs'))
  const time = await moment()
  await put('/docs/a', '22')
  const between = await moment()
  await put('/docs/a', '333')
  await remove('/docs/gone')
  await remove('/docs/sub')
  await put('/docs/new', 'n')
  await put('/docs/young/new', 'n')
  const after = await tree(join(rootA, 'docs'))

  const dry = await restore(time, '/docs', { dryRun: true, deleteExtra: true })
  t.match(dry, { state: 'SUCCEEDED', progress: { files: 3, bytes: 3, deleted: 2 } })
  t.same(await stepsOf(dry.id), [
    'CREATE /docs/gone',
    'CREATE /docs/sub/b',
    'DELETE /docs/new',
    'DELETE /docs/young/new',
    'REPLACE /docs/a',
  ])
  t.same(await tree(join(rootA, 'docs')), after, 'a dry run changes nothing')

  t.match(await restore(time, '/docs'), { state: 'SUCCEEDED', progress: { files: 3, deleted: 0 } })
  t.same(await tree(join(rootA, 'docs')), { ...before, new: 'n', 'young/new': 'n' }, 'new files stay')
  const again = await restore(time, '/docs', { deleteExtra: true })
  t.match(again, { state: 'SUCCEEDED', progress: { files: 0, skipped: 3, deleted: 2 } })
  t.same(await tree(join(rootA, 'docs')), { ...before, young: null })
  t.same(await stepsOf(again.id), [], 'only a dry run shows its steps')

  await restore(between, '/docs')
  t.same(await tree(join(rootA, 'docs')), { ...before, a: '22', young: null }, 'each time is still there')
  await put('/docs/a', 'four')
  await restore(time, '/docs/a')
  t.same(await tree(join(rootA, 'docs')), { ...before, young: null }, 'also for a single file')
})

atNight(t, 'what is in the trash', async t => {
  await update(a, { trashDays: 7 })
  for (const [path, content] of Object.entries({ x: 'x1', 'f/y': 'y1', 'f/z': 'z1' })) await put(`/t/${path}`, content)
  const before = await tree(join(rootA, 't'))
  const time = await moment()
  await put('/t/f/y', 'y2')
  await remove('/t/f')
  await put('/t/f/w', 'w')
  await put('/t/f/y', 'y3')
  await put('/t/f/y', 'y4')
  await remove('/t/x')
  await put('/t/x', 'x2')
  const options = { deleteExtra: true }
  const dry = await restore(time, '/t', { ...options, dryRun: true })
  t.same(await stepsOf(dry.id), ['DELETE /t/f/w', 'REPLACE /t/f/', 'REPLACE /t/f/y', 'REPLACE /t/x'])
  t.match(await restore(time, '/t', options), { state: 'SUCCEEDED', progress: { deleted: 1, failed: 0 } })
  t.same(await tree(join(rootA, 't')), before)
  await update(a, { trashDays: null })
})

/** Returns the paths of what is in the trash. */
async function trashed(id: string): Promise<string[]> {
  const query = 'query ($id: ID!) { trash(providerId: $id) { nodes { originalPath } } }'
  return (await app.ask(query, { id }, token)).trash.nodes.map(({ originalPath }: Data) => originalPath).sort()
}

atNight(t, 'what is replaced goes to the trash where no versions are kept, and stays without either', async t => {
  const failure = {
    state: 'FAILED',
    failures: { nodes: [{ reason: 'PRECONDITION_FAILED', message: /would be lost/ }] },
  }
  await update(a, { trashDays: 7 })
  for (const path of ['version', 'gone', 'folder/file']) await put(`/lost/${path}`, 'old')
  const time = await moment()
  await put('/lost/version', 'new')
  await update(a, { versionCount: 0 })
  for (const path of ['gone', 'folder']) await remove(`/lost/${path}`)
  for (const path of ['gone', 'folder/file', 'folder/other']) await put(`/lost/${path}`, 'new')
  const after = await tree(join(rootA, 'lost'))
  await update(a, { trashDays: 0 })
  for (const path of ['version', 'gone', 'folder']) t.match(await restore(time, `/lost/${path}`), failure, path)
  t.same(await tree(join(rootA, 'lost')), after)
  await update(a, { trashDays: 7 })
  const before = new Set(await trashed(a))
  t.ok(before.has('/lost/gone'), 'what fails stays in the trash')
  t.match(await restore(time, '/lost'), { state: 'SUCCEEDED' })
  t.same(await tree(join(rootA, 'lost')), {
    version: 'old',
    gone: 'old',
    'folder/file': 'old',
    'folder/other': 'new',
  })
  t.same(
    (await trashed(a)).filter(path => path.startsWith('/lost/')),
    ['/lost/folder/file', '/lost/gone', '/lost/version'],
    'the contents that were replaced',
  )
  await update(a, { trashDays: null, versionCount: null })
})

t.test('what is changed after the planning stays, and fails', async t => {
  await update(faulty, { versionCount: 5 })
  for (const name of ['changed', 'same']) await putFaulty(faults, `seen/${name}`, 'old')
  const time = await moment()
  for (const name of ['changed', 'same']) await put(`/seen/${name}`, 'later', faulty)
  let isPlanned = false
  faults.after = async ({ method, path }) => {
    if (isPlanned || method !== 'stat' || path !== 'seen/changed') return
    isPlanned = true
    await putFaulty(faults, 'seen/changed', 'by somebody else')
  }
  const job = await runJob(world, {
    kind: 'RESTORE',
    sources: [{ providerId: faulty, path: '/seen' }],
    restoreAt: time,
  })
  t.match(job, { state: 'FAILED', progress: { files: 1, failed: 1 } })
  t.match(job.failures.nodes, [{ path: '/seen/changed', reason: 'PRECONDITION_FAILED', message: /was changed after/ }])
  t.equal(await textAt(world, '/seen/changed'), 'by somebody else')
  t.equal(await textAt(world, '/seen/same'), 'old')
  faults.after = () => {}
})

atNight(t, 'a back end with a trash of its own keeps what is replaced, too', async t => {
  const native = await app.connectProvider(token, 'native', {})
  await update(native, { versionCount: 5, trashDays: 7 })
  const textOf = async (path: string) => (await app.download(token, native, path)).text()
  for (const path of ['/version', '/trash']) {
    await put(path, 'old', native)
    const time = await moment()
    await remove(path, native)
    await put(path, 'new', native)
    if (path === '/trash') await update(native, { versionCount: 0 })
    const input = { kind: 'RESTORE', sources: [{ providerId: native, path }], restoreAt: time }
    t.match(await runJob(world, input), { state: 'SUCCEEDED' })
    t.equal(await textOf(path), 'old')
  }
  const query = 'query ($id: ID!) { versions(providerId: $id, path: "/version") { nodes { size isCurrent } } }'
  const { versions } = await app.ask(query, { id: native }, token)
  t.match(versions.nodes, [{ size: 3, isCurrent: false }], 'the content that was replaced')
  t.same(await trashed(native), ['/trash'])
})

atNight(t, 'a folder whose files were in a folder that is in the trash comes back with that', async t => {
  await update(a, { trashDays: 7 })
  await put('/up/in/file', 'one')
  const time = await moment()
  await remove('/up/in/file')
  await remove('/up')
  await put('/up/in/file', 'other')
  await put('/up/in/file', 'another')
  t.match(await restore(time, '/up'), { state: 'SUCCEEDED' })
  t.same(await tree(join(rootA, 'up')), { 'in/file': 'one' })
  await update(a, { trashDays: null })
})

/** Makes the job due for another replica, as if the server had been killed. */
async function loseLeases(id: string): Promise<void> {
  const lost = sql`lease_until = now() - interval '1 minute', lease_id = gen_random_uuid()`
  await sql`update jobs set ${lost} where id = ${id}`.execute(app.db)
  await sql`delete from locks`.execute(app.db)
}

atNight(t, 'a run that was interrupted goes on where it was, and keeps every content', async t => {
  await update(faulty, { versionCount: 5 })
  const names = ['1', '2', '3', '4']
  for (const name of names) await putFaulty(faults, `k/${name}`, `old ${name}`)
  const time = await moment()
  for (const name of names) await put(`/k/${name}`, `later ${name}`, faulty)
  const [stopped, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.teardown(() => released.resolve())
  let isStopping = true
  faults.after = async ({ method, path }) => {
    if (!isStopping || method !== 'write' || path !== 'k/2') return
    isStopping = false
    stopped.resolve()
    await released.promise
  }
  const input = { kind: 'RESTORE', sources: [{ providerId: faulty, path: '/k' }], restoreAt: time }
  const id = await startJob({ app, token }, input)
  await stopped.promise
  await loseLeases(id)
  const replica = await app.replica({ settings: { ...settings } })
  t.match(await ended({ app: replica, token }, id), { state: 'SUCCEEDED', progress: { files: 4, failed: 0 } })
  released.resolve()
  for (const name of names) t.equal(await textAt(world, `/k/${name}`), `old ${name}`)
  await until(async () => {
    const query = 'query ($id: ID!) { versions(providerId: $id, path: "/k/1") { nodes { size } } }'
    const { versions } = await app.ask(query, { id: faulty }, token)
    const sizes = versions.nodes.map(({ size }: Data) => size)
    return [5, 7].every(size => sizes.includes(size)) || sizes
  })
  faults.after = () => {}
  await replica.close()
})

atNight(t, 'a run that was killed after it had moved a file out of the trash leaves that file', async t => {
  await update(faulty, { versionCount: 0, trashDays: 7 })
  await putFaulty(faults, 'm/file', 'old')
  const time = await moment()
  await remove('/m/file', faulty)
  await put('/m/file', 'new', faulty)
  const [stopped, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.teardown(() => released.resolve())
  let isStopping = true
  faults.after = async ({ method, path }) => {
    if (!isStopping || method !== 'delete' || path === 'm/file') return
    isStopping = false
    stopped.resolve()
    await released.promise
  }
  const input = { kind: 'RESTORE', sources: [{ providerId: faulty, path: '/m/file' }], restoreAt: time }
  const id = await startJob({ app, token }, input)
  await stopped.promise
  await loseLeases(id)
  const replica = await app.replica({ settings: { ...settings } })
  t.match(await ended({ app: replica, token }, id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  released.resolve()
  t.equal(await textAt(world, '/m/file'), 'old')
  t.same(await trashed(faulty), ['/m/file'], 'the content that was replaced')
  faults.after = () => {}
  await replica.close()
})

t.test('inputs that make no sense, and missing rights', async t => {
  const sources = [{ providerId: a, path: '/docs' }]
  const restoreAt = new Date(Date.now() - 1000).toISOString()
  const reasonOf = async (input: object, as = token) =>
    (await app.graphql(create, { input }, as)).errors[0]?.extensions.reason
  for (const input of [
    { kind: 'RESTORE', sources },
    { kind: 'RESTORE', sources, restoreAt: '2999-01-01T00:00:00Z' },
    { kind: 'RESTORE', sources, restoreAt, target: { providerId: a, path: '/' } },
    { kind: 'RESTORE', sources, restoreAt, deleteExtra: true, permanent: true },
    { kind: 'DELETE', sources, restoreAt },
  ]) {
    t.equal(await reasonOf(input), 'INVALID_INPUT')
  }
  const { key } = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  t.equal(await reasonOf({ kind: 'RESTORE', sources, restoreAt }, key), 'SCOPE_REQUIRED')
  const schedule = 'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }'
  const job = { kind: 'RESTORE', sources, restoreAt }
  const refused = await app.graphql(schedule, { input: { name: 's', cron: '0 0 1 1 *', timeZone: 'UTC', job } }, token)
  t.match(refused.errors[0]?.message, /does not restore/)
  t.match(await restore(restoreAt, '/never/there'), { state: 'FAILED', failures: { nodes: [{ reason: 'NOT_FOUND' }] } })
  await mkdir(join(rootA, 'empty'))
  await fill(rootA, { 'empty/file': 'x' })
  t.match(await restore(restoreAt, '/empty'), { state: 'SUCCEEDED', progress: { files: 0 } })

  await update(a, { versionCount: 0 })
  const kept = await restore('2020-01-01T00:00:00Z', '/empty', { deleteExtra: true })
  t.match(kept, { state: 'FAILED', failures: { nodes: [{ reason: 'PRECONDITION_FAILED' }] } })
  t.same(await readdir(join(rootA, 'empty')), ['file'], 'nothing is deleted for good')
})

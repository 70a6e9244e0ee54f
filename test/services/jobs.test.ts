import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { password } from '../support/client.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { control, create, ended, fill, runJob, startJob, startWorld, stateOf, tree, type World } from './jobs-world.ts'

t.setTimeout(600_000)

const files = { 'f/1.txt': 'one', 'f/sub/2.txt': 'two', 'f/sub/deep/3.txt': 'three', 'g.txt': 'g' }

atNight(t, 'a COPY copies files and trees into the target folder', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fill(rootA, files)
  await mkdir(join(rootA, 'f/empty'))
  const sources = [
    { providerId: a, path: '/f' },
    { providerId: a, path: '/g.txt' },
  ]
  const job = await runJob(world, { kind: 'COPY', sources, target: { providerId: b, path: '/new/place' } })
  t.match(job, {
    state: 'SUCCEEDED',
    error: null,
    progress: { files: 4, bytes: 12, failed: 0, totalFiles: 4, totalBytes: 12 },
  })
  t.same(await tree(rootB), {
    'new/place/f/1.txt': 'one',
    'new/place/f/sub/2.txt': 'two',
    'new/place/f/sub/deep/3.txt': 'three',
    'new/place/f/empty': null,
    'new/place/g.txt': 'g',
  })
  t.same(Object.keys(await tree(rootA)).length, 5)
})

atNight(t, 'the only source of a job gets the name that the target says', async t => {
  const world = await startWorld(t)
  const { app, token, a, b, rootA, rootB } = world
  await fill(rootA, files)
  const from = (path: string) => [{ providerId: a, path }]
  const target = { providerId: b, path: '/place' }
  const renamed = { kind: 'COPY', sources: from('/f'), target, targetName: 'new' }
  t.match(await runJob(world, renamed), { state: 'SUCCEEDED', progress: { files: 3 } })
  t.match(await runJob(world, { ...renamed, sources: from('/g.txt'), targetName: 'h.txt' }), { state: 'SUCCEEDED' })
  const copied = { 'new/1.txt': 'one', 'new/sub/2.txt': 'two', 'new/sub/deep/3.txt': 'three', 'h.txt': 'g' }
  t.same(await tree(join(rootB, 'place')), copied)
  t.match(await runJob(world, { ...renamed, conflict: 'RENAME' }), { state: 'SUCCEEDED', progress: { files: 3 } })
  t.equal((await tree(rootB))['place/new (1)/1.txt'], 'one')
  await fill(rootA, { 'f/1.txt': 'changed' })
  const synced = await runJob(world, { ...renamed, kind: 'SYNC', deleteExtra: true })
  t.match(synced, { state: 'SUCCEEDED', progress: { files: 1, skipped: 2, deleted: 0 } })
  const whole = { ...renamed, sources: from('/'), targetName: 'whole' }
  t.match(await runJob(world, whole), { progress: { files: 4 } })
  t.equal((await tree(rootB))['place/whole/g.txt'], 'g')
  t.match(await runJob(world, whole), { failures: { nodes: [{ path: '/', reason: 'ALREADY_EXISTS' }] } })
  t.match(await runJob(world, { ...whole, conflict: 'RENAME' }), { state: 'SUCCEEDED', progress: { files: 4 } })
  t.equal((await tree(rootB))['place/whole (1)/g.txt'], 'g')
  const inside = { kind: 'MOVE', sources: from('/f'), target: { providerId: a, path: '/' }, targetName: 'moved' }
  t.match(await runJob(world, inside), { state: 'SUCCEEDED' })
  t.equal((await tree(rootA))['moved/1.txt'], 'changed')
  const query = '{ jobs(first: 1) { nodes { target { path } targetName } } }'
  t.same((await app.ask(query, {}, token)).jobs.nodes, [{ target: { path: '/' }, targetName: 'moved' }])

  const into = { ...inside, sources: from('/moved'), target: { providerId: a, path: '/moved/sub' }, targetName: 'x' }
  t.match(await runJob(world, into), { failures: { nodes: [{ reason: 'INTO_ITSELF' }] } })
  for (const [wrong, reason] of [
    [{ ...renamed, targetName: 'a/b' }, 'INVALID_PATH'],
    [{ ...renamed, targetName: '..' }, 'INVALID_PATH'],
    [{ ...renamed, targetName: '' }, 'INVALID_PATH'],
    [{ ...renamed, targetName: 'x'.repeat(1025) }, 'INVALID_PATH'],
    [{ ...renamed, sources: [...from('/moved'), ...from('/g.txt')] }, 'INVALID_INPUT'],
    [{ kind: 'DELETE', sources: from('/moved'), targetName: 'x' }, 'INVALID_INPUT'],
  ] as const) {
    t.match((await app.graphql(create, { input: wrong }, token)).errors, [{ extensions: { reason } }])
  }
})

t.test('a MOVE leaves nothing behind', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fill(rootA, files)
  const sources = [
    { providerId: a, path: '/f' },
    { providerId: a, path: '/g.txt' },
  ]
  const job = await runJob(world, { kind: 'MOVE', sources, target: { providerId: b, path: '/' } })
  t.match(job, { state: 'SUCCEEDED', progress: { files: 4 } })
  t.same(await tree(rootB), files)
  t.same(await tree(rootA), {})
})

atNight(t, 'a DELETE deletes trees', async t => {
  const world = await startWorld(t)
  await fill(world.rootA, files)
  const job = await runJob(world, { kind: 'DELETE', sources: [{ providerId: world.a, path: '/f' }] })
  t.match(job, { state: 'SUCCEEDED' })
  t.same(await tree(world.rootA), { 'g.txt': 'g' })
})

t.test('a SYNC writes what differs and deletes what is extra only if asked', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fill(rootA, files)
  const input = { kind: 'SYNC', sources: [{ providerId: a, path: '/' }], target: { providerId: b, path: '/mirror' } }
  t.match(await runJob(world, { ...input, dryRun: true }), { state: 'SUCCEEDED', progress: { files: 4 } })
  t.same(await tree(rootB), {}, 'a preview writes nothing')
  t.match(await runJob(world, input), { state: 'SUCCEEDED', progress: { files: 4, skipped: 0 } })
  await fill(rootA, { 'f/1.txt': 'changed' })
  await fill(rootB, { 'mirror/extra/x.txt': 'x', 'mirror/f/y.txt': 'y' })
  t.match(await runJob(world, input), { state: 'SUCCEEDED', progress: { files: 1, skipped: 3, deleted: 0 } })
  t.equal((await tree(rootB))['mirror/extra/x.txt'], 'x')
  t.match(await runJob(world, { ...input, deleteExtra: true }), {
    state: 'SUCCEEDED',
    progress: { files: 0, skipped: 4, deleted: 2 },
  })
  t.same(await tree(join(rootB, 'mirror')), { ...files, 'f/1.txt': 'changed' })
})

atNight(t, 'the conflict policy decides about each file', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fill(rootA, { 'f/1.txt': 'new', 'f/2.txt': 'two' })
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target: { providerId: b, path: '/' } }
  await fill(rootB, { 'f/1.txt': 'old' })
  const failed = await runJob(world, { ...input, conflict: 'FAIL' })
  t.match(failed, { state: 'FAILED', failures: { nodes: [{ path: '/f', reason: 'ALREADY_EXISTS' }] } })
  t.match(await runJob(world, { ...input, conflict: 'SKIP' }), {
    state: 'SUCCEEDED',
    progress: { files: 1, skipped: 1 },
  })
  t.same(await tree(rootB), { 'f/1.txt': 'old', 'f/2.txt': 'two' })
  t.match(await runJob(world, { ...input, conflict: 'REPLACE' }), { state: 'SUCCEEDED', progress: { files: 2 } })
  t.same(await tree(rootB), { 'f/1.txt': 'new', 'f/2.txt': 'two' })
  t.match(await runJob(world, { ...input, conflict: 'RENAME' }), { state: 'SUCCEEDED', progress: { files: 2 } })
  t.equal((await tree(rootB))['f (1)/1.txt'], 'new')
  const { retryJob } = await world.app.ask(
    'mutation ($id: ID!) { retryJob(id: $id) { state } }',
    { id: failed.id },
    world.token,
  )
  t.equal(retryJob.state, 'QUEUED')
  t.match(await ended(world, failed.id), { state: 'FAILED', progress: { failed: 1 } })
})

atNight(t, 'overlapping sources and targets fail with a reason on their path', async t => {
  const world = await startWorld(t)
  const { a, rootA } = world
  await fill(rootA, files)
  const into = (path: string, target: string, kind = 'COPY') =>
    runJob(world, { kind, sources: [{ providerId: a, path }], target: { providerId: a, path: target } })
  t.match(await into('/f', '/f/sub'), { state: 'FAILED', failures: { nodes: [{ path: '/f', reason: 'INTO_ITSELF' }] } })
  t.match(await into('/f', '/', 'MOVE'), { failures: { nodes: [{ path: '/f', reason: 'ALREADY_EXISTS' }] } })
  t.match(await into('/nothing', '/x'), { failures: { nodes: [{ path: '/nothing', reason: 'NOT_FOUND' }] } })
  t.same(await tree(rootA), files)
})

t.test('a job needs a valid key with access to all of its locations', async t => {
  const world = await startWorld(t)
  const { app, token, a, b, rootA } = world
  await fill(rootA, files)
  const { key, id } = await app.createKey(token, { name: 'k', scopes: ['write'] })
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target: { providerId: b, path: '/' } }
  t.match(await app.graphql(create, { input }, key), { status: 401 })
  const other = await app.createKey(token, {
    name: 'narrow',
    scopes: ['write'],
    providerAccess: { restrictions: [{ providerId: a, basePath: '/f' }] },
  })
  const outside = await app.graphql(create, { input }, other.key)
  t.match(outside.errors, [{ extensions: { reason: 'PROVIDER_NOT_ALLOWED' } }])
})

/** Of 4,000 bytes each. */
const many = extent({ gate: 200, nightly: 3000 })

async function fillMany(root: string): Promise<void> {
  for (let index = 0; index < many; index++) {
    const folder = join(root, 'many', String(index % 40))
    if (index < 40) await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${index}.bin`), `${index}`.padEnd(4000))
  }
}

/** Lets a job that reads from a provider take ten seconds or more. Null lets it run as fast as it can. */
async function slow({ app, token, a: id }: World, bytesPerSecond: number | null = 65_536): Promise<void> {
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(update, { input: { id, jobLimits: { bytesPerSecond } } }, token)
}

t.test('a job is paused, resumed and canceled within seconds', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fillMany(rootA)
  await slow(world)
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/many' }], target: { providerId: b, path: '/' } }
  const id = await startJob(world, input)
  await until(async () => (await stateOf(world, id)) === 'RUNNING')
  await control(world, 'pauseJob', id)
  await until(async () => (await stateOf(world, id)) === 'PAUSED')
  const before = Object.keys(await tree(rootB)).length
  t.ok(before < many, `${before} files when it was paused`)
  await slow(world, null)
  t.equal(await control(world, 'resumeJob', id), 'QUEUED')
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.same(await tree(rootB), await tree(rootA))

  await slow(world)
  const second = await startJob(world, { ...input, target: { providerId: b, path: '/again' } })
  await until(async () => (await stateOf(world, second)) === 'RUNNING')
  await control(world, 'cancelJob', second)
  t.match(await ended(world, second), { state: 'CANCELED' })
})

atNight(t, 'revoking the key of a running job ends it, and ending the session does not', async t => {
  const world = await startWorld(t)
  const { app, token, a, b, rootA, rootB } = world
  await fillMany(rootA)
  await slow(world)
  const { key, id: keyId } = await app.createKey(token, { name: 'k', scopes: ['write'] })
  const input = {
    kind: 'COPY',
    sources: [{ providerId: a, path: '/many' }],
    target: { providerId: b, path: '/by key' },
  }
  const byKey = await startJob({ app, token: key }, input)
  await until(async () => (await stateOf(world, byKey)) === 'RUNNING')
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: keyId }, token)
  t.match(await ended(world, byKey), { state: 'FAILED', error: { reason: 'KEY_REVOKED' } })
  const files = Object.keys(await tree(rootB)).length
  await new Promise(resolve => setTimeout(resolve, 500))
  t.equal(Object.keys(await tree(rootB)).length, files, 'nothing more is written')

  const other = await app.ask(
    `mutation { login(input: { email: "owner@example.com", password: ${JSON.stringify(password)} }) { token } }`,
  )
  await slow(world, null)
  const folders = extent({ gate: 10, nightly: 40 })
  const sources = Array.from({ length: folders }, (_, n) => ({ providerId: a, path: `/many/${n}` }))
  const bySession = await startJob(
    { app, token: other.login.token },
    { ...input, sources, target: { providerId: b, path: '/by session' } },
  )
  await app.ask('mutation { logout }', {}, other.login.token)
  t.match(await ended(world, bySession), { state: 'SUCCEEDED', progress: { files: (folders * many) / 40 } })
})

atNight(t, 'a retry works on what failed, and nothing else', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await fill(rootA, { 'f/1.txt': 'one', 'f/closed/2.txt': 'two', 'f/open/3.txt': 'three' })
  await fill(rootB, { 'f/closed': 'a file in the way', 'mine.txt': 'mine' })
  for (const kind of ['COPY', 'MOVE', 'SYNC']) {
    const target = { providerId: b, path: kind === 'COPY' ? '/' : `/${kind}` }
    if (kind !== 'COPY') await fill(rootB, { [`${kind}/f/closed`]: 'a file in the way' })
    const input = { kind, sources: [{ providerId: a, path: '/f' }], target, conflict: 'SKIP' }
    const job = await runJob(world, { ...input, deleteExtra: kind === 'SYNC' })
    t.match(job, { state: 'FAILED', failures: { nodes: [{ path: '/f/closed', reason: 'NOT_A_FOLDER' }] } }, kind)
    await rm(join(rootB, target.path, 'f/closed'))
    await control(world, 'retryJob', job.id)
    t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { failed: 0 } }, `${kind} again`)
    t.same(await tree(join(rootB, target.path, 'f')), { '1.txt': 'one', 'closed/2.txt': 'two', 'open/3.txt': 'three' })
    t.equal((await tree(rootB))['mine.txt'], 'mine')
    if (kind === 'MOVE') t.same(await tree(rootA), {}, 'no folder is left')
    await fill(rootA, { 'f/1.txt': 'one', 'f/closed/2.txt': 'two', 'f/open/3.txt': 'three' })
  }
})

atNight(t, 'a SYNC never deletes a source, and nothing in a folder where something failed', async t => {
  const world = await startWorld(t)
  const { app, token, a, b, rootA, rootB } = world
  await fill(rootA, { 'x/x/1.txt': 'one', 'docs/2.txt': 'two' })
  const sync = (path: string, target: object) =>
    runJob(world, { kind: 'SYNC', sources: [{ providerId: a, path }], target, deleteExtra: true })
  t.match(await sync('/x/x', { providerId: a, path: '/' }), { failures: { nodes: [{ reason: 'INTO_ITSELF' }] } })
  const nested = await app.connectProvider(token, 'local', { root: join(rootA, 'x') }, 'nested')
  const through = { kind: 'SYNC', sources: [{ providerId: nested, path: '/x' }], deleteExtra: true }
  t.match(await runJob(world, { ...through, target: { providerId: a, path: '/' } }), { state: 'FAILED' })
  t.same(await tree(rootA), { 'x/x/1.txt': 'one', 'docs/2.txt': 'two' }, 'everything is unchanged')

  await fill(rootB, { 'docs/2.txt': 'two', 'docs/extra.txt': 'extra', 'docs/2b.txt/in the way.txt': 'kept' })
  await fill(rootA, { 'docs/2b.txt': 'a file' })
  t.match(await sync('/docs', { providerId: b, path: '/' }), { state: 'FAILED', progress: { deleted: 0, failed: 1 } })
  t.equal((await tree(rootB))['docs/extra.txt'], 'extra')
})

t.test('sources that overlap or go to the same path are refused', async t => {
  const { app, token, a, b } = await startWorld(t)
  const at = (path: string) => ({ providerId: a, path })
  const target = { providerId: b, path: '/' }
  for (const sources of [
    [at('/1/x'), at('/2/x')],
    [at('/1'), at('/1/2')],
    [at('/'), at('/1')],
  ]) {
    const { errors } = await app.graphql(create, { input: { kind: 'COPY', sources, target } }, token)
    t.match(errors, [{ extensions: { reason: 'INVALID_INPUT' } }])
  }
})

atNight(t, 'the paths of a job are bounded together', async t => {
  const { app, token, a } = await startWorld(t, { settings: { workers: 0 } })
  // Each path has more than 4,000 bytes.
  const sources = Array.from({ length: 17 }, (_, n) => ({
    providerId: a,
    path: `/${n}${`/${'x'.repeat(999)}`.repeat(4)}`,
  }))
  const createWith = (count: number) =>
    app.graphql(create, { input: { kind: 'DELETE', sources: sources.slice(0, count) } }, token)
  t.match(await createWith(17), { errors: [{ message: /several jobs/, extensions: { reason: 'INVALID_INPUT' } }] })
  t.match(await createWith(16), { data: { createJob: { job: { state: 'QUEUED' } } } })
})

atNight(t, 'RENAME copies a file beside itself', async t => {
  const world = await startWorld(t)
  const { a, rootA } = world
  await fill(rootA, { 'f/1.txt': 'one' })
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/f/1.txt' }], target: { providerId: a, path: '/f' } }
  t.match(await runJob(world, { ...input, conflict: 'RENAME' }), { state: 'SUCCEEDED', progress: { files: 1 } })
  t.same(await tree(rootA), { 'f/1.txt': 'one', 'f/1 (1).txt': 'one' })
})

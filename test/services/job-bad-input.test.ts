/** Each entry that a job cannot process is listed with its reason, and the job continues with the others. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { StorageError } from '../../adapters/contract.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { control, ended, fill, put, runJob, startFaultyWorld, startJob, startWorld, tree } from './jobs-world.ts'

t.setTimeout(600_000)

atNight(t, 'names that the target cannot hold', async t => {
  const world = await startWorld(t)
  const { app, token, a, rootA } = world
  const server = await s3Server(t)
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const config = { bucket: await server.newBucket(), endpoint, region, accessKeyId, secretAccessKey }
  const s3 = await app.connectProvider(token, 's3', config, 's3')
  // S3 limits a key to 1,024 bytes.
  const long = Array(4).fill('x'.repeat(240)).join('/')
  const name = 'y'.repeat(100)
  const files = { [`f/${long}/${name}.txt`]: 'long', [`f/${long}/fine.txt`]: 'fine', 'f/other.txt': 'other' }
  await fill(rootA, files)
  await mkdir(join(rootA, `f/${long}/${name}`))
  for (const kind of extent({ gate: ['COPY', 'MOVE'], nightly: ['COPY', 'SYNC', 'MOVE'] })) {
    const input = { kind, sources: [{ providerId: a, path: '/f' }], target: { providerId: s3, path: '/' } }
    const job = await runJob(world, { ...input, conflict: 'REPLACE' })
    t.match(job, { state: 'FAILED', error: null, progress: { failed: 2 } }, kind)
    t.same(job.failures.nodes.map(({ path, reason }: Record<string, string>) => `${reason} ${path}`).toSorted(), [
      `INVALID_PATH /f/${long}/${name}`,
      `INVALID_PATH /f/${long}/${name}.txt`,
    ])
    t.equal(await (await app.download(token, s3, `/f/${long}/fine.txt`)).text(), 'fine')
  }
  t.same(await tree(rootA), { [`f/${long}/${name}`]: null, [`f/${long}/${name}.txt`]: 'long' }, 'the rest is moved')
})

t.test('a quota that is reached', async t => {
  const world = await startFaultyWorld(t)
  const { app, token, a, rootA } = world
  const small = await app.connectProvider(token, 'memory', { maxBytes: 100_000 }, 'small')
  // One file at once, so that the large one does not take the room of the others for a moment.
  const limit = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(limit, { input: { id: small, jobLimits: { filesAtOnce: 1 } } }, token)
  await fill(rootA, { 'f/1 large.bin': 'x'.repeat(200_000), 'f/2.txt': 'two', 'f/sub/3.txt': 'three' })
  for (const kind of ['COPY', 'MOVE']) {
    const target = { providerId: small, path: `/${kind}` }
    const job = await runJob(world, { kind, sources: [{ providerId: a, path: '/f' }], target })
    t.match(job, { state: 'FAILED', progress: { files: 2, failed: 1 } })
    t.match(job.failures.nodes, [{ path: '/f/1 large.bin', reason: 'QUOTA_EXCEEDED' }])
    t.equal(await (await app.download(token, small, `/${kind}/f/sub/3.txt`)).text(), 'three')
  }
  t.same(Object.keys(await tree(rootA)), ['f/1 large.bin'], 'a move keeps what it did not copy')
})

atNight(t, 'credentials of a back end that expire half way', async t => {
  const world = await startFaultyWorld(t)
  const { b, rootB, faults, faulty } = world
  for (let index = 0; index < 30; index++) await put(faults, `f/${index % 3}/${index}`, `${index}`)
  let reads = 0
  faults.before = ({ method }) => {
    if (method === 'read') reads += 1
    if (reads > 10) throw new StorageError('UNAUTHORIZED', 'The key has expired.')
  }
  const input = { kind: 'COPY', sources: [{ providerId: faulty, path: '/f' }], target: { providerId: b, path: '/' } }
  const job = await runJob(world, input)
  t.match(job, { state: 'FAILED', error: null })
  t.ok(job.progress.files > 0 && job.progress.failed > 0, JSON.stringify(job.progress))
  const reasons = job.failures.nodes.map(({ reason }: Record<string, string>) => reason)
  t.same([...new Set(reasons)], ['BACK_END_CREDENTIALS'])
  faults.before = () => {}
  await control(world, 'retryJob', job.id)
  t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { files: 30, failed: 0 } })
  t.equal(Object.keys(await tree(rootB)).length, 30)
})

t.test('an API key that expires half way', async t => {
  const world = await startFaultyWorld(t)
  const { app, token, b, faults, faulty } = world
  for (let index = 0; index < 10; index++) await put(faults, `f/${index}`, `${index}`)
  const expiry = Promise.withResolvers<void>()
  faults.before = ({ method }) => (method === 'read' ? expiry.promise : undefined)
  const { key, id: keyId } = await app.createKey(token, { name: 'short', scopes: ['write'] })
  const input = { kind: 'COPY', sources: [{ providerId: faulty, path: '/f' }], target: { providerId: b, path: '/' } }
  const id = await startJob({ app, token: key }, input)
  await until(() => faults.calls.some(({ method }) => method === 'read'))
  await app.db
    .updateTable('api_keys')
    .set({ expires_at: new Date(Date.now() - 1000) } as never)
    .where('id', '=', keyId)
    .execute()
  const job = await ended(world, id)
  expiry.resolve()
  t.match(job, { state: 'FAILED', error: { reason: 'KEY_EXPIRED' }, progress: { files: 0 } })
})

atNight(t, 'a target inside of a source, which only the back end shows', async t => {
  const world = await startWorld(t)
  const { app, token, a, rootA } = world
  await fill(rootA, { '1.txt': 'one', 'x/2.txt': 'two', 'x/y/3.txt': 'three', 'z/4.txt': 'four' })
  await mkdir(join(rootA, 'x/y/inside'))
  const inside = await app.connectProvider(token, 'local', { root: join(rootA, 'x/y/inside') }, 'inside')
  for (const kind of ['COPY', 'SYNC']) {
    const target = { providerId: inside, path: `/${kind}` }
    const job = await runJob(world, { kind, sources: [{ providerId: a, path: '/' }], target })
    t.match(job, { state: 'FAILED', progress: { files: 4, failed: 1 } })
    t.match(job.failures.nodes, [{ path: '/x/y/inside', reason: 'INTO_ITSELF' }])
    t.same(await tree(join(rootA, 'x/y/inside', kind)), {
      '1.txt': 'one',
      'x/2.txt': 'two',
      'x/y/3.txt': 'three',
      'z/4.txt': 'four',
    })
  }
})

atNight(t, 'a folder that contains itself', async t => {
  const world = await startFaultyWorld(t)
  const { app, token, faults, faulty } = world
  const target = await app.connectProvider(token, 'memory', {}, 'target')
  await put(faults, 'f/again/1.txt', 'one')
  await put(faults, 'f/fine.txt', 'fine')
  await put(faults, 'f/again/again/x', '')
  faults.resolve = path => path.replace(/^f(\/again)+/, 'f/again')
  const job = await runJob(world, {
    kind: 'COPY',
    sources: [{ providerId: faulty, path: '/f' }],
    target: { providerId: target, path: '/' },
  })
  t.match(job, { state: 'FAILED', error: null, progress: { failed: 1 } })
  t.match(job.failures.nodes, [{ reason: 'INVALID_INPUT', message: /512 folders/ }])
  t.equal(await (await app.download(token, target, '/f/fine.txt')).text(), 'fine')
  t.equal(await (await app.download(token, target, '/f/again/again/1.txt')).text(), 'one')
})

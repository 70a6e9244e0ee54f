/** Copies keep the modification times of their sources where the back end can, and no move is fooled by a kept time. */
import { createHash } from 'node:crypto'
import { mkdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import { type AdapterDefinition, apiVersion, type Entry, type StorageProvider } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { reasonOf, send } from '../http/tus.ts'
import { startApp, type TestApp } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { providerClient } from './transfers.ts'

const past = new Date('2001-02-03T04:05:06.789Z')
const earlier = new Date('1999-12-31T23:59:59.001Z')

/** Opens one store for all providers. Its entries have no ids, and their etags are hashes of the content. */
function shared(type: string, traits: Partial<StorageProvider['traits']>): AdapterDefinition {
  const store = new MemoryProvider(1_000_000)
  const change = async (entry: Entry, path: Parameters<StorageProvider['stat']>[0]): Promise<Entry> => {
    const { fileId: _, ...rest } = entry
    if (entry.kind === 'directory') return rest
    const { body } = await store.read(path, { signal: new AbortController().signal })
    return {
      ...rest,
      etag: createHash('sha256')
        .update(await buffer(body))
        .digest('hex'),
    }
  }
  const provider: StorageProvider = {
    traits: { emptyDirectories: true, ...traits },
    stat: async (path, options) => change(await store.stat(path, options), path),
    list: async (path, options) => {
      const page = await store.list(path, options)
      const at = (name: string) => (path === '' ? name : `${path}/${name}`) as typeof path
      return { ...page, entries: await Promise.all(page.entries.map(entry => change(entry, at(entry.name)))) }
    },
    read: async (path, { signal, range }) => {
      const { body, entry } = await store.read(path, { signal, ...(range && { range }) })
      return { body, entry: await change(entry, path) }
    },
    write: async (path, body, { modifiedAt, ...options }) => {
      const kept = traits.keepsModifiedAt && modifiedAt ? { modifiedAt } : {}
      return change(await store.write(path, body, { ...options, ...kept }), path)
    },
    delete: (path, options) => store.delete(path, options),
    mkdir: (path, options) => store.mkdir(path, options),
  }
  const configSchema = { type: 'object', properties: {} } as const
  return { type, apiVersion, title: type, configSchema, open: async () => provider }
}

async function startWorld(t: Test) {
  const app = await startApp(t, {
    adapters: folder => [
      ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }),
      shared('keeping', { keepsModifiedAt: true }),
      shared('forgetting', {}),
    ],
  })
  const { token } = await app.register('owner@example.com')
  const connect = async (type: string, config: object) =>
    providerClient(app, token, await app.connectProvider(token, type, config))
  const local = async (name: string) => {
    await mkdir(join(app.folder, name))
    return { ...(await connect('local', { root: join(app.folder, name) })), root: join(app.folder, name) }
  }
  return { app, token, connect, local }
}

type World = Awaited<ReturnType<typeof startWorld>>

async function runJob({ app, token }: { app: TestApp; token: string }, input: object) {
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { createJob } = await app.ask(create, { input }, token)
  let job: Data
  await until(async () => {
    const query = `query ($id: ID!) { job(id: $id) { state progress { files skipped failed } failures { nodes { path reason } } } }`
    job = (await app.ask(query, { id: createJob.job.id }, token)).job
    return ['SUCCEEDED', 'FAILED'].includes(job.state) || job
  })
  return job
}

async function timeOf({ app, token }: World, providerId: string, path: string): Promise<string> {
  const query =
    'query ($providerId: ID!, $path: String!) { entry(providerId: $providerId, path: $path) { modifiedAt } }'
  return (await app.ask(query, { providerId, path }, token)).entry.modifiedAt
}

async function fill(root: string, path: string, content: string, time: Date): Promise<void> {
  await mkdir(join(root, path, '..'), { recursive: true })
  await writeFile(join(root, path), content)
  await utimes(join(root, path), time, time)
}

t.test('jobs and mutations keep the times of files', async t => {
  const world = await startWorld(t)
  const [a, b] = [await world.local('a'), await world.local('b')]
  const memory = await world.connect('memory', {})
  await fill(a.root, 'f/sub/1.txt', 'one', past)
  const at = (client: { providerId: string }, path: string) => ({ providerId: client.providerId, path })
  const copies = [
    [at(a, '/f'), at(b, '/copied'), '/copied/f/sub/1.txt'],
    [at(a, '/f'), at(a, '/copied'), '/copied/f/sub/1.txt'],
    [at(a, '/f/sub/1.txt'), at(memory, '/'), '/1.txt'],
    [at(memory, '/1.txt'), at(b, '/back'), '/back/1.txt'],
  ] as const
  for (const [source, target, path] of copies) {
    t.match(await runJob(world, { kind: 'COPY', sources: [source], target }), { state: 'SUCCEEDED' })
    t.equal(await timeOf(world, target.providerId, path), past.toISOString())
  }
  const moved = await runJob(world, { kind: 'MOVE', sources: [at(b, '/back')], target: at(memory, '/moved') })
  t.match(moved, { state: 'SUCCEEDED' })
  t.equal(await timeOf(world, memory.providerId, '/moved/back/1.txt'), past.toISOString())
  for (const operation of ['copy', 'move'] as const) {
    for (const to of [a, b]) {
      const toPath = `/by ${operation} ${to.root.at(-1)}`
      const from = operation === 'copy' ? '/f/sub/1.txt' : toPath.replace('move', 'copy')
      const client = operation === 'copy' ? a : to
      const result = await client.run(operation, { path: from, toProviderId: to.providerId, toPath })
      t.match(result, { modifiedAt: past.toISOString() }, toPath)
    }
  }
  // The file system also keeps the microseconds, which make etags unique.
  t.equal(Math.floor((await stat(join(b.root, 'copied/f/sub/1.txt'))).mtimeMs), past.getTime())
})

atNight(t, 'a SYNC compares kept times', async t => {
  const world = await startWorld(t)
  const [a, b] = [await world.local('a'), await world.local('b')]
  await fill(a.root, '1.txt', 'one', past)
  await fill(a.root, '2.txt', 'two', past)
  const sync = () =>
    runJob(world, {
      kind: 'SYNC',
      sources: [{ providerId: a.providerId, path: '/' }],
      target: { providerId: b.providerId, path: '/m' },
    })
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 2, skipped: 0 } })
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 0, skipped: 2 } })
  // An older version of the same size, such as one from a backup, is another version.
  await fill(a.root, '1.txt', 'ONE', earlier)
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 1 } })
  t.equal(await b.get('/m/1.txt'), 'ONE')
  t.equal(await timeOf(world, b.providerId, '/m/1.txt'), earlier.toISOString())
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 0, skipped: 2 } })
})

atNight(t, 'a target that cannot keep times is served as well', async t => {
  const world = await startWorld(t)
  const a = await world.local('a')
  const target = await world.connect('forgetting', {})
  await fill(a.root, '1.txt', 'one', past)
  const sync = () =>
    runJob(world, {
      kind: 'SYNC',
      sources: [{ providerId: a.providerId, path: '/' }],
      target: { providerId: target.providerId, path: '/m' },
    })
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } })
  const written = Date.parse(await timeOf(world, target.providerId, '/m/1.txt'))
  t.ok(Math.abs(written - Date.now()) < 60_000, 'the copy has the time of the copy')
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 0, skipped: 1 } })
  await fill(a.root, '1.txt', 'ONE', new Date(Date.now() + 60_000))
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } })
})

atNight(t, 'a SYNC to a target that cannot keep times writes what may have changed after it was copied', async t => {
  const world = await startWorld(t)
  const a = await world.local('a')
  const target = await world.connect('forgetting', {})
  const sync = () =>
    runJob(world, {
      kind: 'SYNC',
      sources: [{ providerId: a.providerId, path: '/' }],
      target: { providerId: target.providerId, path: '/m' },
    })
  await fill(a.root, '1.txt', 'one', past)
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } })
  // Milliseconds from the time of the copy. The size never changes.
  for (const [offset, text] of [
    [0, 'two'],
    [-1500, 'six'],
    [1500, 'ten'],
  ] as const) {
    const copiedAt = Date.parse(await timeOf(world, target.providerId, '/m/1.txt'))
    await fill(a.root, '1.txt', text, new Date(copiedAt + offset))
    t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } }, `${offset} ms`)
    t.equal(await target.get('/m/1.txt'), text)
  }
  const copiedAt = Date.parse(await timeOf(world, target.providerId, '/m/1.txt'))
  await fill(a.root, '1.txt', 'ten', new Date(copiedAt - 2500))
  t.match(await sync(), { state: 'SUCCEEDED', progress: { files: 0, skipped: 1 } }, 'the copy is two seconds newer')
})

atNight(t, 'a NEWER copy compares kept times', async t => {
  const world = await startWorld(t)
  const [a, b] = [await world.local('a'), await world.local('b')]
  const copy = () =>
    runJob(world, {
      kind: 'COPY',
      conflict: 'NEWER',
      sources: [{ providerId: a.providerId, path: '/1.txt' }],
      target: { providerId: b.providerId, path: '/' },
    })
  await fill(a.root, '1.txt', 'one', earlier)
  t.match(await copy(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } })
  t.match(await copy(), { state: 'SUCCEEDED', progress: { files: 0, skipped: 1 } })
  await fill(a.root, '1.txt', 'changed', past)
  t.match(await copy(), { state: 'SUCCEEDED', progress: { files: 1, skipped: 0 } })
  t.equal(await b.get('/1.txt'), 'changed')
})

atNight(t, 'a file that is moved onto itself through another provider is never deleted', async t => {
  const world = await startWorld(t)
  const [one, other] = [await world.connect('keeping', {}), await world.connect('keeping', {})]
  const a = await world.local('a')
  await fill(a.root, '1.txt', 'one', past)
  const to = (path: string) => ({ providerId: one.providerId, path })
  const source = { providerId: a.providerId, path: '/1.txt' }
  t.match(await runJob(world, { kind: 'COPY', sources: [source], target: to('/') }), { state: 'SUCCEEDED' })
  t.equal(await timeOf(world, one.providerId, '/1.txt'), past.toISOString(), 'the store keeps times')
  const toItself = { path: '/1.txt', toPath: '/1.txt', toProviderId: other.providerId, conflict: 'REPLACE' }
  t.equal(await one.run('move', toItself), 'PRECONDITION_FAILED')
  t.equal(await one.get('/1.txt'), 'one')
  const job = await runJob(world, {
    kind: 'MOVE',
    conflict: 'REPLACE',
    sources: [to('/1.txt')],
    target: { providerId: other.providerId, path: '/' },
  })
  t.match(job, { state: 'FAILED', failures: { nodes: [{ reason: 'PRECONDITION_FAILED' }] } })
  t.equal(await one.get('/1.txt'), 'one')
})

atNight(t, 'uploads keep the time that their client sends', async t => {
  const world = await startWorld(t)
  const { app, token } = world
  const targets = [await world.local('a'), await world.connect('memory', {}), await world.connect('keeping', {})]
  const modifiedAt = past.toISOString()
  const bytes = Buffer.alloc(300_000, 'x')
  for (const { providerId } of targets) {
    const query = `&modifiedAt=${encodeURIComponent('2001-02-03T05:05:06.789+01:00')}`
    t.equal((await app.upload(token, providerId, '/raw', 'content', query)).status, 201)
    const form = new FormData()
    for (const [name, value] of Object.entries({ providerId, path: '/', modifiedAt })) form.append(name, value)
    form.append('file', new File(['content'], 'form'))
    t.equal((await app.request('/api/upload/proxy', { method: 'POST', token, body: form })).status, 201)
    const metadata = (path: string) => ({ providerId, path, modifiedAt })
    await send({ url: app.url, token, metadata: metadata('/resumable') }, bytes, { chunkSize: 120_000 })
    await send({ url: app.url, token, metadata: metadata('/empty') }, Buffer.alloc(0))
    for (const path of ['/raw', '/form', '/resumable', '/empty']) {
      t.equal(await timeOf(world, providerId, path), modifiedAt, path)
    }
  }
  const [{ providerId }] = targets as [(typeof targets)[0]]
  const refused = await app.upload(token, providerId, '/wrong', 'content', '&modifiedAt=yesterday')
  t.equal(await reasonOf(refused), 'INVALID_INPUT')
  // The contract has times from 1970 to 2099: any other one is not kept.
  t.equal((await app.upload(token, providerId, '/odd', 'content', '&modifiedAt=9999-01-01T00:00:00Z')).status, 201)
  t.ok(Math.abs(Date.parse(await timeOf(world, providerId, '/odd')) - Date.now()) < 60_000)
})

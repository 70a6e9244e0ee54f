/** The limits of a provider bound all jobs together, and running jobs follow a change. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { Throttle } from '../../src/services/jobs/limits.ts'
import { startApp, type TestApp } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

const mb = 1_000_000

/** Counts the writes that run at once. They wait until `open` is called. */
class Gate {
  running = 0
  #opened = Promise.withResolvers<void>()

  open(): void {
    this.#opened.resolve()
  }

  on(definition: AdapterDefinition): AdapterDefinition {
    return { ...definition, type: 'gated', open: async (...given) => this.#wrap(await definition.open(...given)) }
  }

  #wrap(provider: StorageProvider): StorageProvider {
    const write: StorageProvider['write'] = async (...parameters) => {
      this.running += 1
      try {
        await this.#opened.promise
        return await provider.write(...parameters)
      } finally {
        this.running -= 1
      }
    }
    return new Proxy(provider, {
      get(target, name) {
        if (name === 'write') return write
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}

async function startWorld(t: Test, gate = new Gate()) {
  const app = await startApp(t, {
    adapters: folder => [
      ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }),
      gate.on(memoryAdapter as AdapterDefinition),
    ],
  })
  const { token } = await app.register('owner@example.com')
  const root = join(app.folder, 'a')
  await mkdir(root)
  const [source, target, gated] = [
    await app.connectProvider(token, 'local', { root }),
    await app.connectProvider(token, 'memory', {}),
    await app.connectProvider(token, 'gated', {}),
  ]
  return { app, token, root, source, target, gated }
}

type World = Awaited<ReturnType<typeof startWorld>>

const update = `mutation ($input: UpdateProviderInput!) {
  updateProvider(input: $input) { name jobLimits { filesAtOnce bytesPerSecond } }
}`

async function limit({ app, token }: Pick<World, 'app' | 'token'>, id: string, jobLimits: object): Promise<void> {
  await app.ask(update, { input: { id, jobLimits } }, token)
}

async function start({ app, token, source }: World, path: string, providerId: string, target = '/'): Promise<string> {
  const input = { kind: 'COPY', sources: [{ providerId: source, path }], target: { providerId, path: target } }
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  return (await app.ask(create, { input }, token)).createJob.job.id
}

async function jobOf({ app, token }: { app: TestApp; token: string }, id: string): Promise<Data> {
  const query = 'query ($id: ID!) { job(id: $id) { state startedAt endedAt progress { files bytesPerSecond } } }'
  return (await app.ask(query, { id }, token)).job
}

/** Returns how many seconds the job took. */
async function ended(world: World, id: string): Promise<number> {
  let job: Data
  await until(async () => {
    job = await jobOf(world, id)
    return job.state === 'SUCCEEDED' || job
  })
  return (Date.parse(job.endedAt) - Date.parse(job.startedAt)) / 1000
}

t.test('an administrator sets the limits of a provider', async t => {
  const { app, token, source } = await startWorld(t)
  const set = async (input: object, by = token) => {
    const { data, errors } = await app.graphql(update, { input: { id: source, ...input } }, by)
    return errors[0]?.extensions.reason ?? data.updateProvider.jobLimits
  }
  t.same(await set({}), { filesAtOnce: 16, bytesPerSecond: null })
  const limits = { filesAtOnce: 3, bytesPerSecond: 65_536 }
  t.same(await set({ jobLimits: limits }), limits)
  t.same(await set({ name: 'renamed' }), limits, 'they stay')
  t.same(await set({ jobLimits: { bytesPerSecond: 5 * mb } }), { filesAtOnce: 16, bytesPerSecond: 5 * mb })
  t.same(await set({ jobLimits: {} }), { filesAtOnce: 16, bytesPerSecond: null })
  for (const bad of [{ filesAtOnce: 0 }, { filesAtOnce: 129 }, { bytesPerSecond: 65_535 }, { bytesPerSecond: 0 }]) {
    t.equal(await set({ jobLimits: bad }), 'INVALID_INPUT', JSON.stringify(bad))
  }
  const { key } = await app.createKey(token, { name: 'k', scopes: ['write'] })
  t.equal(await set({ jobLimits: {} }, key), 'SCOPE_REQUIRED')
})

t.test('a throttle lets its rate pass, whatever the number of streams', async t => {
  const throttle = new Throttle()
  const { signal } = new AbortController()
  t.equal(throttle.pass(mb, signal), undefined, 'without a rate nothing waits')
  throttle.rate = 2 * mb
  const from = performance.now()
  const stream = async () => {
    for (let sent = 0; sent < mb; sent += 50_000) await throttle.pass(50_000, signal)
  }
  await Promise.all([stream(), stream(), stream(), stream()])
  const seconds = (performance.now() - from) / 1000
  t.ok(seconds > 1.2 && seconds < 60, `4 MB at 2 MB/s took ${seconds} s`)
})

t.test('an abort ends the wait for a throttle', async t => {
  const throttle = new Throttle()
  throttle.rate = 1
  const stop = new AbortController()
  const { signal } = new AbortController()
  await throttle.pass(mb, signal)
  const [aborted, waiting] = [throttle.pass(1, stop.signal), throttle.pass(1, signal)]
  stop.abort(new Error('stopped'))
  await t.rejects(aborted ?? Promise.resolve(), { message: 'stopped' })
  throttle.rate = null
  await t.resolves(waiting ?? Promise.resolve(), 'a rate that is lifted lets everything pass')
})

atNight(t, 'a job keeps to the bytes per second of its source and of its target', async t => {
  const world = await startWorld(t)
  await writeFile(join(world.root, 'f'), Buffer.alloc(6 * mb))
  for (const limited of [world.source, world.target]) {
    await limit(world, limited, { bytesPerSecond: 3 * mb })
    const seconds = await ended(world, await start(world, '/f', world.target, `/${limited}`))
    t.ok(seconds > 1.5 && seconds < 60, `6 MB at 3 MB/s took ${seconds} s`)
    await limit(world, limited, {})
  }
})

atNight(t, 'a running job follows a change of the bytes per second', async t => {
  const world = await startWorld(t)
  await writeFile(join(world.root, 'f'), Buffer.alloc(50 * mb))
  await limit(world, world.target, { bytesPerSecond: 65_536 })
  const id = await start(world, '/f', world.target)
  await until(async () => (await jobOf(world, id)).progress.bytesPerSecond > 0)
  t.equal((await jobOf(world, id)).state, 'RUNNING', 'it would take ten minutes')
  await limit(world, world.target, { bytesPerSecond: null })
  t.ok((await ended(world, id)) < 60)
})

atNight(t, 'running jobs share the files at once, and follow a change', async t => {
  const gate = new Gate()
  const world = await startWorld(t, gate)
  for (let index = 0; index < 40; index += 1) {
    const folder = join(world.root, 'f', String(index % 4))
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${index}`), 'content')
  }
  await limit(world, world.gated, { filesAtOnce: 4 })
  const first = await start(world, '/f', world.gated, '/1')
  await until(() => gate.running === 4 || gate.running)
  await limit(world, world.gated, { filesAtOnce: 10 })
  await until(() => gate.running === 10 || gate.running)
  await limit(world, world.gated, { filesAtOnce: 6 })
  const second = await start(world, '/f', world.gated, '/2')
  await until(() => gate.running === 13 || gate.running)
  t.equal(gate.running, 13, 'the second job has its half, and the first one ends what it began')
  gate.open()
  await Promise.all([ended(world, first), ended(world, second)])
  t.equal((await jobOf(world, second)).progress.files, 40)
})

/** Copies are compared with their sources by every checksum that both sides have. Damaged copies are reported and not left. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import {
  type AdapterDefinition,
  apiVersion,
  type Entry,
  type StoragePath,
  type StorageProvider,
  type Traits,
} from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { ended, runJob } from './jobs-world.ts'
import { providerClient } from './transfers.ts'

const never = { signal: new AbortController().signal }

/** A store whose entries have the checksum of what is stored. It damages the files that `damages` names. */
class Store {
  damages: (path: string) => boolean = () => false
  readonly files = new MemoryProvider(10_000_000)
  readonly adapter: AdapterDefinition
  readonly #algorithm: 'md5' | 'sha256'

  /** @param traits without `storedChecksum`, only a checksum of the source can show the damage */
  constructor(type: string, algorithm: 'md5' | 'sha256', traits: Partial<Traits> = {}) {
    this.#algorithm = algorithm
    const { files } = this
    const provider: StorageProvider = {
      traits: { emptyDirectories: true, ...traits },
      stat: async (path, options) => this.#with(path, await files.stat(path, options)),
      // Like S3, it has no checksums in listings.
      list: (path, options) => files.list(path, options),
      read: async (path, options) => {
        const { body, entry } = await files.read(path, options)
        return { body, entry: await this.#with(path, entry) }
      },
      write: async (path, body, options) => {
        const bytes = await buffer(body)
        if (this.damages(path)) bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
        const stored = await files.write(path, Readable.from([bytes], { objectMode: false }), options)
        return this.#with(path, stored)
      },
      delete: (path, options) => files.delete(path, options),
      mkdir: (path, options) => files.mkdir(path, options),
    }
    const configSchema = { type: 'object', properties: {} } as const
    this.adapter = { type, apiVersion, title: type, configSchema, open: async () => provider }
  }

  async #with(path: StoragePath, entry: Entry): Promise<Entry> {
    if (entry.kind === 'directory') return entry
    const hash = createHash(this.#algorithm).update(await buffer((await this.files.read(path, never)).body))
    return { ...entry, checksums: { [this.#algorithm]: hash.digest('hex') } }
  }

  /** Returns all files below a folder with their content. */
  async tree(path = ''): Promise<Record<string, string>> {
    const found: Record<string, string> = {}
    const { entries } = await this.files.list(path as StoragePath, { ...never, limit: 1000 })
    for (const { name, kind } of entries) {
      const at = path === '' ? name : `${path}/${name}`
      if (kind === 'directory') Object.assign(found, await this.tree(at))
      else found[at] = (await buffer((await this.files.read(at as StoragePath, never)).body)).toString()
    }
    return found
  }
}

async function startWorld(t: Test) {
  const stores = {
    /** Has a checksum of its own. */
    summing: new Store('summing', 'md5'),
    /** Has no checksum in common with the others. */
    other: new Store('other', 'sha256'),
    /** Says that it checksums every file. */
    stating: new Store('stating', 'sha256', { storedChecksum: 'sha256' }),
    /** Has the checksum of `summing`, but does not say so. */
    target: new Store('target', 'md5'),
  }
  const app = await startApp(t, { adapters: Object.values(stores).map(({ adapter }) => adapter) })
  const { token } = await app.register('owner@example.com')
  const ids: Record<string, string> = {}
  for (const type of Object.keys(stores)) ids[type] = await app.connectProvider(token, type, {})
  return { app, token, stores, ids }
}

const pairs = [
  ['summing', 'target'],
  ['summing', 'stating'],
  ['other', 'stating'],
  ['other', 'target'],
] as const

for (const [from, to] of extent({ gate: pairs.slice(0, 1), nightly: [...pairs] })) {
  const isFound = !(from === 'other' && to === 'target')
  t.test(`from ${from} to ${to}, damage is ${isFound ? 'found' : 'not visible, as no checksum is common'}`, async t => {
    const world = await startWorld(t)
    const { stores, ids } = world
    const next = randomNumbers(7)
    const content = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`f/${n % 4}/${n}`, `content ${n}`]))
    for (const [path, text] of Object.entries(content)) {
      await stores[from].files.write(path as StoragePath, Readable.from([text]), { ...never, overwrite: false })
    }
    const damaged = new Set(Object.keys(content).filter(() => next() < 0.2))
    t.ok(damaged.size > 1 && damaged.size < 30, `${damaged.size} files are damaged`)
    stores[to].damages = path => damaged.has(path)
    const good = Object.fromEntries(Object.entries(content).filter(([path]) => !damaged.has(path)))
    const input = {
      sources: [{ providerId: ids[from], path: '/f' }],
      target: { providerId: ids[to], path: '/' },
      conflict: 'REPLACE',
    }
    if (!isFound) {
      t.match(await runJob(world, { kind: 'COPY', ...input }), { state: 'SUCCEEDED', progress: { files: 40 } })
      return
    }
    for (const kind of extent({ gate: ['MOVE'], nightly: ['COPY', 'SYNC', 'MOVE'] })) {
      const job = await runJob(world, { kind, ...input })
      t.match(job, { state: 'FAILED', progress: { failed: damaged.size } }, kind)
      t.same(
        job.failures.nodes.map(({ path, reason }: { path: string; reason: string }) => [path, reason]).sort(),
        [...damaged].map(path => [`/${path}`, 'BACK_END_FAULT']).sort(),
      )
      t.same(await stores[to].tree(), good, 'no damaged copy is left')
      const left = Object.fromEntries([...damaged].map(path => [path, content[path]]))
      t.same(await stores[from].tree(), kind === 'MOVE' ? left : content, 'no source is lost')
      if (kind !== 'MOVE') continue
      stores[to].damages = () => false
      await world.app.ask('mutation ($id: ID!) { retryJob(id: $id) { state } }', { id: job.id }, world.token)
      t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { failed: 0 } })
      t.same(await stores[to].tree(), content)
    }
  })
}

t.test('the mutations copy and move find damage, too', async t => {
  const { app, token, stores, ids } = await startWorld(t)
  const client = providerClient(app, token, ids.summing ?? '')
  await client.put('/file', 'content')
  stores.target.damages = () => true
  for (const operation of ['copy', 'move'] as const) {
    const input = { path: '/file', toProviderId: ids.target, toPath: '/copy' }
    t.equal(await client.run(operation, input), 'BACK_END_FAULT', operation)
    t.same(await stores.target.tree(), {})
    t.same(await stores.summing.tree(), { file: 'content' })
  }
})

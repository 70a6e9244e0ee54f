/** Small files that a back end copies together for a job. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import {
  type AdapterDefinition,
  childOf,
  type Entry,
  StorageError,
  type StoragePath,
  type StorageProvider,
} from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { runJob } from './jobs-world.ts'

const { signal } = new AbortController()
const p = (path: string) => path as StoragePath

type CopySmall = NonNullable<StorageProvider['copySmall']>

/** Files in memory. A test decides how they are copied together, and which paths cannot be written. */
class Files {
  readonly memory = new MemoryProvider(100_000_000)
  readonly refused = new Set<string>()
  /** The names of each call. */
  readonly calls: (readonly string[])[] = []
  copySmall: CopySmall = (...args) => this.copyEach(...args)

  /** Copies the files in the way of the contract. */
  async copyEach(...[from, to, names, options]: Parameters<CopySmall>): Promise<(Entry | null)[]> {
    const copy = async (name: string) => {
      const { body, entry } = await this.memory.read(childOf(from, name), options)
      const modifiedAt = entry.modifiedAt ?? new Date()
      return this.memory.write(childOf(to, name), body, { ...options, modifiedAt, overwrite: false })
    }
    return Promise.all(names.map(name => copy(name).catch(() => null)))
  }

  open(): StorageProvider {
    const { memory } = this
    const provider: StorageProvider = {
      traits: memory.traits,
      stat: (path, options) => memory.stat(path, options),
      list: (path, options) => memory.list(path, options),
      read: (path, options) => memory.read(path, options),
      write: async (path, body, options) => {
        if (!this.refused.has(path)) return memory.write(path, body, options)
        body.destroy()
        throw new StorageError('PERMISSION_DENIED', 'Closed.')
      },
      delete: (path, options) => memory.delete(path, options),
      mkdir: (path, options) => memory.mkdir(path, options),
      copySmall: async (from, to, names, options) => {
        this.calls.push(names)
        return this.copySmall(from, to, names, options)
      },
    }
    return provider
  }

  async put(path: string, text: string): Promise<void> {
    await this.memory.write(p(path), Readable.from([text]), { signal, overwrite: true })
  }

  async text(path: string): Promise<string> {
    return (await buffer((await this.memory.read(p(path), { signal })).body)).toString()
  }

  /** Returns the names in a folder, none for a missing one. */
  async names(path: string): Promise<string[]> {
    const list = this.memory.list(p(path), { signal, limit: 1000 })
    return list.then(
      ({ entries }) => entries.map(({ name }) => name),
      () => [],
    )
  }
}

async function start(t: Test, count: number) {
  const files = new Files()
  const adapter: AdapterDefinition = {
    type: 'together',
    apiVersion: 1,
    title: 'Memory that copies files together',
    configSchema: { type: 'object', properties: {} },
    open: async () => files.open(),
  }
  const app = await startApp(t, { adapters: [adapter] })
  const { token } = await app.register('owner@example.com')
  const providerId = await app.connectProvider(token, 'together', {})
  const names = Array.from({ length: count }, (_, index) => `${index}`).sort()
  for (const name of names) await files.put(`f/${name}`, `file ${name}`)
  const input = (target: string, more: object = {}) => ({
    kind: 'COPY',
    sources: [{ providerId, path: '/f' }],
    target: { providerId, path: target },
    ...more,
  })
  /** Runs a job with this way to copy files together. */
  const run = (target: string, copySmall: CopySmall | null, more: object = {}) => {
    files.calls.length = 0
    files.copySmall = copySmall ?? ((...args) => files.copyEach(...args))
    return runJob({ app, token }, input(target, more))
  }
  const isCopied = async (target: string) => {
    t.same((await files.names(`${target}/f`)).sort(), names)
    for (const name of names) t.equal(await files.text(`${target}/f/${name}`), `file ${name}`)
  }
  return { app, token, providerId, files, names, run, isCopied }
}

t.test('small files whose names are free are copied together', async t => {
  const { files, names, run, isCopied } = await start(t, 150)
  t.match(await run('/a', null), { state: 'SUCCEEDED', progress: { files: 150, bytes: 1090, failed: 0, skipped: 0 } })
  t.same(files.calls.flat().sort(), names)
  t.ok(files.calls.every(each => each.length <= 100))
  t.ok(files.calls.length < 10, `${files.calls.length} calls`)
  await isCopied('a')

  await files.put('f/large', 'x'.repeat(65 * 1024))
  await files.put('f/sub/inner', 'inner')
  await files.put('b/f/3', 'old')
  const job = await run('/b', null, { conflict: 'SKIP' })
  t.match(job, { state: 'SUCCEEDED', progress: { files: 151, skipped: 1, failed: 0 } })
  t.same(files.calls.flat().sort(), [...names.filter(name => name !== '3'), 'inner'].sort())
  t.equal(await files.text('b/f/3'), 'old')
  t.equal(await files.text('b/f/sub/inner'), 'inner')
  t.equal((await files.text('b/f/large')).length, 65 * 1024)

  t.match(await run('/sync', null, { kind: 'SYNC' }), { state: 'SUCCEEDED', progress: { files: 152 } })
  t.same(files.calls.flat().sort(), [...names, 'inner'].sort())
  t.match(await run('/sync', null, { kind: 'SYNC' }), { state: 'SUCCEEDED', progress: { files: 0, skipped: 152 } })
  t.same(files.calls, [], 'nothing has to be copied')
  t.match(await run('/c', null, { dryRun: true }), { state: 'SUCCEEDED', progress: { files: 152 } })
  t.same(files.calls, [], 'a preview copies nothing')
  t.match(await run('/d', null, { kind: 'MOVE' }), { state: 'SUCCEEDED', progress: { files: 152 } })
  t.same(files.calls, [], 'a move copies and verifies one file after the other')
})

t.test('files that are not copied together are copied by themselves', async t => {
  const { run, files, isCopied } = await start(t, 70)
  const half: CopySmall = async (from, to, names, options) => {
    const some = names.filter((_, index) => index % 2 === 0)
    const copies = await files.copyEach(from, to, some, options)
    return names.map((_, index) => (index % 2 === 0 ? (copies[index / 2] ?? null) : null))
  }
  t.match(await run('/half', half), { state: 'SUCCEEDED', progress: { files: 70, failed: 0 } })
  await isCopied('half')
  t.match(await run('/none', async (_from, _to, names) => names.map(() => null)), {
    state: 'SUCCEEDED',
    progress: { files: 70, failed: 0 },
  })
  await isCopied('none')
})

atNight(t, 'copies whose response was lost are found', async t => {
  const { run, files, isCopied } = await start(t, 70)
  const lost: CopySmall = async (from, to, names, options) => {
    await files.copyEach(from, to, names.slice(0, 50), options)
    throw new StorageError('UNAVAILABLE', 'The response is lost.')
  }
  t.match(await run('/a', lost), { state: 'SUCCEEDED', progress: { files: 70, failed: 0 } })
  await isCopied('a')
})

atNight(t, 'errors and wrong results are failures of each file', async t => {
  const { run, files, names } = await start(t, 3)
  const ways: [string, string, CopySmall][] = [
    ['refused', 'BACK_END_REFUSED', () => Promise.reject(new StorageError('PERMISSION_DENIED', 'Closed.'))],
    ['bug', 'BACK_END_FAULT', () => Promise.reject(new Error('a bug'))],
    ['nothing', 'BACK_END_FAULT', async () => undefined as never],
    ['few', 'BACK_END_FAULT', async () => [null, null]],
    ['many', 'BACK_END_FAULT', async (_from, _to, all) => [...all.map(() => null), null]],
    ['texts', 'BACK_END_FAULT', async (_from, _to, all) => all.map(() => 'copied') as never],
    ['undefined', 'BACK_END_FAULT', async (_from, _to, all) => all.map(() => undefined) as never],
    ['folders', 'BACK_END_FAULT', (from, _to, all) => Promise.all(all.map(() => files.memory.stat(from, { signal })))],
  ]
  for (const [target, reason, copySmall] of ways) {
    const job = await run(`/${target}`, copySmall)
    t.match(job, { state: 'FAILED', progress: { files: 0, failed: 3 } }, target)
    t.same(
      job.failures.nodes.map(({ path, reason }: { path: string; reason: string }) => [path, reason]).sort(),
      names.map(name => [`/f/${name}`, reason]),
      target,
    )
  }
})

t.test('the mutation copy undoes what was copied together if another file fails', async t => {
  const { app, token, providerId, files } = await start(t, 70)
  files.refused.add('copy/7')
  files.copySmall = async (from, to, names, options) => {
    const copies = await files.copyEach(from, to, names, options)
    if (!names.includes('7')) return copies
    await files.memory.delete(p('copy/7'), { signal })
    return copies.map((copy, index) => (names[index] === '7' ? null : copy))
  }
  const input = { providerId, path: '/f', toProviderId: providerId, toPath: '/copy' }
  const mutation = 'mutation ($input: CopyInput!) { copy(input: $input) { path } }'
  t.match((await app.graphql(mutation, { input }, token)).errors, [{ extensions: { reason: 'BACK_END_REFUSED' } }])
  t.ok(files.calls.length > 0)
  t.same(await files.names('copy'), [])
  files.refused.clear()
  t.same((await app.graphql(mutation, { input }, token)).errors ?? [], [])
  t.equal((await files.names('copy')).length, 70)
})

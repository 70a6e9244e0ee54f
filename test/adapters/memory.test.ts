import { totalmem } from 'node:os'
import { Readable } from 'node:stream'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createMemoryAdapter, memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { sharedBytes } from '../../adapters/backends/memory/tree.ts'
import { at, call, get, makeFolder, put, rejectsWith, stalledBody } from '../../adapters/conformance/kit.ts'
import { startApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { faults, runConformance } from './conformance.ts'
import { silentHost } from './host.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

const open = (maxBytes = 256 * 1024 * 1024) => memoryAdapter.open({ maxBytes }, silentHost)

runConformance(t, 'memory', { open, inMemory: true, manyEntries: extent({ gate: 1000, nightly: 10_000 }) }, [
  'partSize in the harness',
  'reopen in the harness',
  'openFolder in the harness',
  'hasCreateRaces in the harness',
  'resumable writes',
  'the trait keepsReplaced',
  ...['copy', 'copySmall', 'move', 'deleteTree', 'openFile', 'readSmall', 'setModifiedAt', 'presign', 'changes'].map(
    name => `the method ${name}`,
  ),
  ...faults,
])

t.test('two providers share nothing', async t => {
  const [one, other] = await Promise.all([open(), open()])
  await put(one, 'file', 'content')
  await rejectsWith('NOT_FOUND', other.stat(at('file'), call()))
  t.pass()
})

t.test('maxBytes limits files and folders, and deleting them frees their bytes', async t => {
  const limit = 1024 * 1024
  const provider = await open(limit)
  await put(provider, 'folder/big', Buffer.alloc(900_000))
  await rejectsWith('QUOTA_EXCEEDED', put(provider, 'more', Buffer.alloc(200_000)))
  await put(provider, 'folder/big', Buffer.alloc(100_000), true)
  await put(provider, 'more', Buffer.alloc(200_000))
  await provider.delete(at('folder/big'), call())
  await provider.delete(at('folder'), call())
  await provider.delete(at('more'), call())
  t.strictSame(await provider.quota?.(call()), { used: 0, total: limit })
  const folders = Array.from({ length: 2000 }, (_, i) => makeFolder(provider, `folder ${i}`))
  const refused = (await Promise.allSettled(folders)).filter(result => result.status === 'rejected')
  t.equal(refused.length, 2000 - 1024)
})

t.test('a failed write frees its bytes', async t => {
  const provider = await open(1024 * 1024)
  const controller = new AbortController()
  const body = stalledBody(Buffer.alloc(500_000))
  const write = provider.write(at('file'), body, { signal: controller.signal, overwrite: false })
  await until(async () => ((await provider.quota?.(call()))?.used ?? 0) >= 500_000)
  controller.abort(new Error('gone'))
  await t.rejects(write, { message: 'gone' })
  t.match(await provider.quota?.(call()), { used: 0 })
})

t.test('all providers of a server share a limit, and close frees bytes', async t => {
  const adapter = createMemoryAdapter(1_000_000)
  const openShared = () => adapter.open({ maxBytes: 1_000_000 }, silentHost)
  const [one, other] = await Promise.all([openShared(), openShared()])
  await put(one, 'file', Buffer.alloc(700_000))
  await t.rejects(put(other, 'file', Buffer.alloc(700_000)), {
    code: 'QUOTA_EXCEEDED',
    message: /^All memory providers of this server together can hold 1000000 bytes\./,
  })
  t.match(await other.quota?.(call()), { used: 0, total: 1_000_000 - 700_000 - 1024 })
  await put(other, 'file', Buffer.alloc(200_000))
  await t.rejects(put(one, 'file', Buffer.alloc(300_000)), { code: 'ALREADY_EXISTS' })
  await one.close?.()
  await put(other, 'more', Buffer.alloc(700_000))
  await other.close?.()
  await put(await openShared(), 'file', Buffer.alloc(900_000))
})

t.test('the limit of all providers is a quarter of the memory and at most 256 MiB', async t => {
  t.ok(sharedBytes > 0 && sharedBytes <= Math.min(totalmem() / 4, 256 * 1024 ** 2), `${sharedBytes} bytes`)
})

atNight(t, 'maxBytes has an upper bound', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const connect = (maxBytes: number) =>
    app.graphql(
      'mutation ($config: JSON!) { connectProvider(input: { type: "memory", name: "m", config: $config }) { provider { id } } }',
      { config: { maxBytes } },
      token,
    )
  for (const maxBytes of [256 * 1024 ** 2 + 1, Number.MAX_SAFE_INTEGER]) {
    t.match((await connect(maxBytes)).errors, [{ extensions: { reason: 'INVALID_CONFIG' } }])
  }
  t.same((await connect(256 * 1024 ** 2)).errors, [])
})

t.test('the counted bytes match the used memory for empty files, long names and one-byte chunks', async t => {
  const limit = extent({ gate: 4, nightly: 16 }) * 1024 * 1024
  const provider = await open(limit)
  const before = await held()
  const name = (i: number) => `${i}`.padStart(255, 'n')
  let count = 0
  const fill = async () => {
    for (; count <= limit; count += 1) await put(provider, name(count), '')
  }
  await rejectsWith('QUOTA_EXCEEDED', fill())
  t.equal(count, limit / 1024)
  const full = (await held()) - before
  t.ok(full < 1.25 * limit, `${count} empty files take ${full} bytes`)
  for (let i = 0; i < count; i += 1) await provider.delete(at(name(i)), call())
  const size = extent({ gate: 100_000, nightly: 500_000 })
  function* bytes() {
    const byte = Buffer.from('x')
    for (let i = 0; i < size; i += 1) yield Buffer.from(byte)
  }
  await provider.write(at('dripped'), Readable.from(bytes(), { objectMode: false }), { ...call(), overwrite: false })
  const dripped = (await held()) - before
  t.ok(dripped < 4 * 1024 * 1024, `${size} single bytes take ${dripped}`)
  t.equal((await get(provider, 'dripped')).toString(), 'x'.repeat(size))
})

/** Returns the bytes of objects and Buffers. */
async function held(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    collect()
    await yieldToOthers()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { at, call, makeFolder, put, rejectsWith, stalledBody } from '../../adapters/conformance/kit.ts'
import { memoryAdapter } from '../../adapters/memory/index.ts'
import { faults, runConformance } from './conformance.ts'
import { silentHost } from './host.ts'

const open = (maxBytes = 256 * 1024 * 1024) => memoryAdapter.open({ maxBytes }, silentHost)

runConformance({ open, inMemory: true }, [
  'a part size (partSize of the harness)',
  'reopen of the harness',
  'a create that is check-then-write',
  'resumable writes',
  ...['copy', 'move', 'deleteTree', 'openFile', 'presign'].map(name => `the method ${name}`),
  ...faults,
])

t.test('two providers share nothing', async t => {
  const [one, other] = await Promise.all([open(), open()])
  await put(one, 'file', 'content')
  await rejectsWith('NOT_FOUND', other.stat(at('file'), call()))
  t.pass()
})

t.test('maxBytes bounds files and folders, and what goes away frees its share', async t => {
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

t.test('what a failed write had taken is given back', async t => {
  const provider = await open(1024 * 1024)
  const controller = new AbortController()
  const body = stalledBody(Buffer.alloc(500_000))
  const write = provider.write(at('file'), body, { signal: controller.signal, overwrite: false })
  await setTimeout(10)
  controller.abort(new Error('gone'))
  await t.rejects(write, { message: 'gone' })
  t.match(await provider.quota?.(call()), { used: 0 })
})

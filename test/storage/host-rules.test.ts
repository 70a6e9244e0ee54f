/** The work that the host does around the calls of adapters that ask for it with their traits. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { at, bodyOf, call, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider, Traits } from '../../adapters/contract.ts'
import { MemoryProvider } from '../../adapters/memory/provider.ts'
import { withHostRules } from '../../src/storage/host-rules.ts'

/** Opens a provider with these traits. `calls` names the calls that reached the adapter. */
function world(traits: Partial<Traits>, laneTimeout?: number) {
  const memory = new MemoryProvider(10_000_000)
  const calls: string[] = []
  const recorded = new Proxy(memory, {
    get(target, name) {
      if (name === 'traits') return { ...target.traits, ...traits }
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        calls.push(`${String(name)} ${args[0]}`)
        return value.apply(target, args)
      }
    },
  }) as StorageProvider
  return { memory, calls, provider: withHostRules(recorded, laneTimeout) }
}

const read = (provider: StorageProvider, path = 'file', signal = call().signal) => provider.read(at(path), { signal })

t.test('reads above maxReads wait until a body ends or is destroyed', async t => {
  const { provider, calls } = world({ maxReads: 2 })
  await put(provider, 'file', 'content')
  const [first, second] = [await read(provider), await read(provider)]
  calls.length = 0
  const [third, fourth] = [read(provider), read(provider)]
  t.equal((await provider.stat(at('file'), call())).size, 7, 'other calls do not wait')
  t.same(calls, ['stat file'])
  await buffer(first.body)
  t.equal((await buffer((await third).body)).toString(), 'content')
  second.body.destroy()
  t.equal((await buffer((await fourth).body)).toString(), 'content')
  await t.rejects(read(provider, 'missing'), { code: 'NOT_FOUND' })
  await t.rejects(read(provider, 'missing'), { code: 'NOT_FOUND' })
  await buffer((await read(provider)).body)
  t.equal(calls.at(-1), 'read file', 'a read that fails makes room')
})

t.test('a read that waits too long fails with the reason, and an abort ends the wait', async t => {
  const { provider } = world({ maxReads: 1 }, 20)
  await put(provider, 'file', 'content')
  const { body } = await read(provider)
  await t.rejects(read(provider), { code: 'UNAVAILABLE', message: /allows 1 downloads at once/, retryAfterMs: 5000 })
  const controller = new AbortController()
  const waiting = read(provider, 'file', controller.signal)
  controller.abort(new Error('the client went away'))
  await t.rejects(waiting, { message: 'the client went away' })
  body.destroy()
  await once(body, 'close')
  t.equal((await buffer((await read(provider)).body)).toString(), 'content')
})

t.test('writes have a lane of their own, so a copy inside a provider gets both', async t => {
  const { provider } = world({ maxReads: 2, maxWrites: 2 })
  await put(provider, 'file', 'content')
  const copies = Array.from({ length: 10 }, async (_, n) => {
    const { body } = await read(provider)
    await provider.write(at(`copy ${n}`), body, { ...call(), overwrite: false })
  })
  await Promise.all(copies)
  t.equal((await provider.list(at(''), { ...call(), limit: 100 })).entries.length, 11)
})

t.test('a write that waits too long destroys its body', async t => {
  const { provider, calls } = world({ maxWrites: 1 }, 20)
  const stalled = new Readable({ read() {} })
  const controller = new AbortController()
  const writing = provider.write(at('slow'), stalled, { signal: controller.signal, overwrite: false })
  const body = bodyOf('content')
  await t.rejects(provider.write(at('file'), body, { ...call(), overwrite: false }), {
    code: 'UNAVAILABLE',
    message: /allows 1 uploads at once/,
  })
  t.ok(body.destroyed)
  t.same(calls, ['write slow'])
  controller.abort(new Error('gone'))
  await t.rejects(writing, { message: 'gone' })
  await put(provider, 'file', 'content')
})

t.test('names with line breaks never reach an adapter with singleLineNames', async t => {
  const { provider, calls } = world({ singleLineNames: true })
  for (const path of ['a\r\nDELE b', 'folder/new\nline/file', 'a\r']) {
    const body = bodyOf('content')
    const tries = [
      provider.stat(at(path), call()),
      provider.list(at(path), { ...call(), limit: 10 }),
      provider.read(at(path), call()),
      provider.write(at(path), body, { ...call(), overwrite: true }),
      provider.delete(at(path), call()),
      provider.mkdir(at(path), { ...call(), exclusive: false }),
    ]
    for (const result of await Promise.allSettled(tries)) {
      t.match(result, { status: 'rejected', reason: { code: 'INVALID_PATH' } })
    }
    t.ok(body.destroyed)
  }
  t.same(calls, [])
  await put(provider, 'tab\there', 'content')
  t.same(calls, ['write tab\there'])
})

t.test('an adapter without these traits is used as it is', async t => {
  const memory = new MemoryProvider(1_000)
  t.equal(withHostRules(memory), memory)
})

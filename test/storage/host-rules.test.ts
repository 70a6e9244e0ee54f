/** The work that the host does around the calls of adapters that ask for it with their traits. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import { at, bodyOf, call, namesIn, put } from '../../adapters/conformance/kit.ts'
import { type StorageProvider, type Traits, windowsNames } from '../../adapters/contract.ts'
import { withMethods } from '../../adapters/name-rules.ts'
import { checkProvider, withHostRules } from '../../src/storage/host-rules.ts'

/** Opens a provider with these traits. `calls` names the calls that reached the adapter. */
function world(traits: Partial<Traits>, queueTimeout?: number) {
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
  return { memory, calls, provider: withHostRules(recorded, () => {}, queueTimeout) }
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

/** Opens a provider that has every method, and notes each path and name that reaches one of them. */
function complete(traits: Partial<Traits>) {
  const reached: string[] = []
  const method =
    (name: string) =>
    async (...args: unknown[]) => {
      reached.push(name, ...args.flat().filter(value => typeof value === 'string'))
    }
  const methods = (names: string) => Object.fromEntries(names.split(' ').map(name => [name, method(name)]))
  const adapter = {
    traits: { emptyDirectories: true, ...traits },
    ...methods(
      'stat list read write delete mkdir deleteTree openFile readSmall copy copySmall move setModifiedAt presign quota changes close',
    ),
    resumable: { partSize: 1, ...methods('begin append complete abort') },
    trash: methods('identify put has restore remove'),
  } as unknown as StorageProvider
  return { reached, provider: withHostRules(checkProvider(adapter), () => {}) }
}

const forbidden: [Partial<Traits>, string, RegExp][] = [
  [{ singleLineNames: true }, 'a\r\nDELE b', /contain a line break/],
  [{ forbiddenInNames: '\r\n\\' }, 'a\r', /contain a line break/],
  [{ forbiddenInNames: '\\:\u{1f600}' }, '..\\..\\outside', /contain "\\"/],
  [{ forbiddenInNames: '\\:\u{1f600}' }, 'smile \u{1f600}', /contain "\u{1f600}"/u],
  [{ forbiddenAtEndOfNames: '. ' }, 'trailing.', /end with "."/],
  [{ forbiddenAtEndOfNames: '. ' }, 'trailing ', /end with a space/],
  [{ reservedNames: ['Desktop.ini'] }, 'desktop.INI', /reserves the name "desktop.INI"/],
  [windowsNames, '..\\x', /contain "\\"/],
  [windowsNames, 'a:b', /contain ":"/],
  [windowsNames, 'file::$DATA', /contain ":"/],
  [windowsNames, 'tab\t', /contain the character U\+0009/],
  [windowsNames, 'con', /reserves the name "con", with any extension/],
  [windowsNames, 'Com1.tar.gz', /reserves the name "com1"/],
  [windowsNames, 'NUL .txt', /reserves the name "nul"/],
  [windowsNames, 'lpt\u00b3', /reserves the name/],
  [windowsNames, 'x. ', /end with a space/],
]

t.test('a path with a name that the traits forbid never reaches an adapter, in any method', async t => {
  for (const [traits, name, why] of forbidden) {
    const { provider, reached } = complete(traits)
    for (const path of [at(name), at(`folder/${name}`), at(`${name}/file`)]) {
      const body = bodyOf('content')
      const { trash, resumable } = provider
      const keep = { ...call(), overwrite: false }
      const reads = {
        setModifiedAt: provider.setModifiedAt?.(path, new Date(), call()),
        stat: provider.stat(path, call()),
        list: provider.list(path, { ...call(), limit: 10 }),
        read: provider.read(path, call()),
        openFile: provider.openFile?.(path, call()),
        readSmall: provider.readSmall?.(path, { ...call(), maxBytes: 10 }),
        presign: provider.presign?.(path, { ...call(), method: 'GET', expiresIn: 1 }),
        'the source of copy': provider.copy?.(path, at('to'), keep),
        'the source of move': provider.move?.(path, at('to'), keep),
        'the source of copySmall': provider.copySmall?.(path, at('to'), ['a'], call()),
        identify: trash?.identify(path, call()),
        'put of the trash': trash?.put('id', path, call()),
      }
      const writes = {
        write: provider.write(path, body, keep),
        mkdir: provider.mkdir(path, { ...call(), exclusive: false }),
        'presign for a PUT': provider.presign?.(path, { ...call(), method: 'PUT', expiresIn: 1 }),
        'the target of copy': provider.copy?.(at('from'), path, keep),
        'the target of move': provider.move?.(at('from'), path, keep),
        'the target of copySmall': provider.copySmall?.(at('from'), path, ['a'], call()),
        'the names of copySmall': provider.copySmall?.(at('from'), at('to'), ['a', name], call()),
        begin: resumable?.begin(path, call()),
        restore: trash?.restore('id', path, call()),
      }
      for (const [what, promise] of Object.entries(reads))
        await t.rejects(Promise.resolve(promise), { name: 'StorageError', code: 'NOT_FOUND', message: why }, what)
      for (const [what, promise] of Object.entries(writes))
        await t.rejects(Promise.resolve(promise), { name: 'StorageError', code: 'INVALID_PATH', message: why }, what)
      t.ok(body.destroyed)
      await provider.delete(path, call())
      await provider.deleteTree?.(path, call())
    }
    t.same(reached, [], `${JSON.stringify(name)} reached the adapter`)
    await provider.stat(at('folder/allowed'), call())
    await provider.resumable?.append('state\\:\r\n', bodyOf('x'), { ...call(), offset: 0, size: 1 })
    await provider.trash?.restore('id\\:\r\n', at('to'), call())
    t.same(reached, ['stat', 'folder/allowed', 'append', 'state\\:\r\n', 'restore', 'id\\:\r\n', 'to'])
  }
})

t.test('names that only look like forbidden ones are passed on', async t => {
  const { provider, reached } = complete(windowsNames)
  for (const name of ['console', 'com', 'com10', 'a.con', ' con', '.hidden', '..hidden', 'a~1', 'nul_']) {
    await provider.stat(at(name), call())
    t.equal(reached.at(-1), name)
  }
})

t.test('a listing leaves out names that the traits forbid, and the log says so', async t => {
  const memory = new MemoryProvider(10_000)
  for (const name of ['a', 'b\\c', 'con', 'd']) await put(memory, name, '')
  const warnings: string[] = []
  const adapter = withMethods(memory as StorageProvider, { traits: { ...memory.traits, ...windowsNames } })
  const provider = withHostRules(adapter, message => warnings.push(message))
  t.same(await namesIn(provider, ''), ['a', 'd'])
  t.same(warnings, ['Omitted from a listing, because the traits of the adapter forbid their names: 2.'])
})

t.test('traits about names that the host cannot enforce are refused when a provider is opened', async t => {
  const wrong = [
    { forbiddenInNames: /\\/ },
    { forbiddenAtEndOfNames: ['.'] },
    { reservedNames: 'con' },
    { reservedNames: [1] },
    { singleLineNames: 'yes' },
    { forbiddenInNames: '.' },
  ]
  for (const traits of wrong) {
    const open = () => complete(traits as unknown as Partial<Traits>)
    t.throws(open, { name: 'AppError', cause: { message: /traits/ } }, JSON.stringify(traits))
  }
})

t.test('an adapter without these traits is used as it is', async t => {
  const memory = new MemoryProvider(1_000)
  t.equal(
    withHostRules(memory, () => {}),
    memory,
  )
})

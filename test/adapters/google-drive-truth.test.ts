/** Changes that others make in Drive while the adapter uses it. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import {
  at,
  call,
  get,
  has,
  isMissing,
  listAll,
  makeFolder,
  namesIn,
  put,
  rejectsWith,
} from '../../adapters/conformance/kit.ts'
import { contentOf } from '../servers/google-drive/store.ts'
import { atNight, extent } from '../support/extent.ts'
import { openWorld } from './google-drive-world.ts'

const keep = { overwrite: false }

for (const trust of extent({ gate: [0], nightly: [0, 2000] })) {
  t.test(`folders that others move, rename, delete or trash are noticed within ${trust} ms`, async t => {
    const { provider, fake, rootId } = await openWorld(t, { options: { trust } })
    /** A cached folder may be used for this time. */
    const settle = () => delay(trust === 0 ? 0 : trust + 50)
    const a = fake.addFolder(rootId, 'a')
    const b = fake.addFolder(a.id, 'b')
    fake.addFile(b.id, 'file', 'content')
    await has(provider, 'a/b/file', 'content')

    fake.store.rename(b, 'renamed')
    await settle()
    await isMissing(provider, 'a/b/file')
    await has(provider, 'a/renamed/file', 'content')

    fake.store.move(b, rootId)
    await settle()
    await isMissing(provider, 'a/renamed/file')
    await has(provider, 'renamed/file', 'content')

    fake.store.move(a, b.id)
    await settle()
    t.strictSame(await namesIn(provider, ''), ['renamed'])
    t.strictSame(await namesIn(provider, 'renamed'), ['a', 'file'])

    b.explicitlyTrashed = true
    fake.store.touch(b)
    await settle()
    await isMissing(provider, 'renamed/file')
    fake.addFile(fake.addFolder(rootId, 'renamed').id, 'file', 'another')
    await has(provider, 'renamed/file', 'another')
  })
}

t.test('a lookup in a deleted folder notices the deletion at once, even if the folder is cached', async t => {
  const { provider, fake, rootId } = await openWorld(t, { options: { trust: 600_000 } })
  const old = fake.addFolder(rootId, 'folder')
  fake.addFile(old.id, 'file', 'old')
  await has(provider, 'folder/file', 'old')
  fake.store.remove(old)
  fake.addFile(fake.addFolder(rootId, 'folder').id, 'file', 'new')
  await has(provider, 'folder/file', 'new')
})

t.test('a write looks up every folder again, even if it is cached', async t => {
  const { provider, fake, rootId } = await openWorld(t, { options: { trust: 600_000 } })
  const folder = fake.addFolder(rootId, 'folder')
  const outside = fake.addFolder(fake.rootId, 'outside')
  await put(provider, 'folder/first', '')
  fake.store.move(folder, outside.id)
  await put(provider, 'folder/second', '')
  t.strictSame(
    fake.store.childrenOf(folder.id).map(item => item.name),
    ['first'],
  )
  t.strictSame(await namesIn(provider, 'folder'), ['second'])
})

t.test('a lookup that began before a move is not cached after it', async t => {
  const { provider, fake, rootId } = await openWorld(t, { options: { trust: 600_000 } })
  const outer = fake.addFolder(rootId, 'outer')
  fake.addFile(fake.addFolder(outer.id, 'inner').id, 'file')
  await has(provider, 'outer/inner/file', '')
  // Both folders are looked up at once. The response for the outer one arrives after the inner one was moved.
  const move = () => provider.move?.(at('outer/inner'), at('moved'), { ...call(), ...keep })
  fake.faults.before({ path: /name = 'outer'/, run: move })
  await provider.delete(at('outer/inner/nothing'), call())
  await has(provider, 'moved/file', '')
  await rejectsWith('NOT_FOUND', provider.list(at('outer/inner'), { ...call(), limit: 10 }))
})

t.test('a deep path with cached folders costs one request', async t => {
  const { provider, fake, rootId } = await openWorld(t, { options: { trust: 600_000 } })
  let parent = rootId
  for (const name of ['a', 'b', 'c', 'd']) parent = fake.addFolder(parent, name).id
  fake.addFile(parent, 'file')
  await provider.stat(at('a/b/c/d/file'), call())
  fake.faults.clear()
  await provider.stat(at('a/b/c/d/file'), call())
  t.equal(fake.faults.log.length, 1)
})

t.test('a folder that is trashed during a write is created again', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const folder = fake.addFolder(rootId, 'folder')
  for (const size of extent({ gate: [10], nightly: [10, 9_000_000] })) {
    fake.faults.before({
      method: size === 10 ? 'POST' : 'PUT',
      path: /upload\/drive/,
      run: () => {
        for (const item of [folder, ...fake.store.childrenOf(rootId)]) item.explicitlyTrashed = true
        fake.store.touch(folder)
      },
    })
    const bytes = Buffer.alloc(size, 'x')
    await put(provider, `folder/${size}`, bytes)
    t.ok((await get(provider, `folder/${size}`)).equals(bytes))
  }
})

atNight(t, 'a file that is moved during a large overwrite keeps its content', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const file = fake.addFile(rootId, 'file', 'old')
  const outside = fake.addFolder(fake.rootId, 'outside')
  fake.faults.before({ method: 'PUT', path: /upload_id/, run: () => fake.store.move(file, outside.id) })
  await rejectsWith('UNAVAILABLE', put(provider, 'file', Buffer.alloc(9_000_000), true))
  t.equal(Buffer.concat(file.content?.chunks ?? []).toString(), 'old')
  t.strictSame(await namesIn(provider, ''), [])
  t.equal(fake.uploads.openSessions, 0)
})

t.test('if two files are created at the same time, the younger one is removed', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  /** Runs just before the request that creates the file. */
  const makeTwin = (size: number, age: number) => {
    const run = () => void fake.addFile(rootId, 'file', 'of another', { createdTime: Date.now() - age })
    if (size === 10) return fake.faults.before({ method: 'POST', path: /upload\/drive/, run })
    const last = { method: 'PUT', path: /upload_id/, run }
    return fake.faults.before({ ...last, run: () => fake.faults.before(last) })
  }
  for (const size of extent({ gate: [10], nightly: [10, 9_000_000] })) {
    const bytes = Buffer.alloc(size, 'x')
    makeTwin(size, 60_000)
    await rejectsWith('ALREADY_EXISTS', put(provider, 'file', bytes))
    await has(provider, 'file', 'of another')
    t.equal(fake.store.childrenOf(rootId).length, 1, 'our file was removed')
    for (const item of fake.store.childrenOf(rootId)) fake.store.remove(item)

    // With a younger file, the other writer would remove its own file. Here it does not.
    makeTwin(size, -60_000)
    await put(provider, 'file', bytes)
    t.ok((await get(provider, 'file')).equals(bytes))
    t.equal(fake.store.childrenOf(rootId).length, 2)
    for (const item of fake.store.childrenOf(rootId)) fake.store.remove(item)

    makeTwin(size, 60_000)
    await put(provider, 'file', bytes, true)
    t.ok((await get(provider, 'file')).equals(bytes))
    t.strictSame(
      fake.store
        .childrenOf(rootId)
        .map(item => item.explicitlyTrashed)
        .sort(),
      [false, true],
    )
    for (const item of fake.store.childrenOf(rootId)) fake.store.remove(item)
  }
})

t.test('two servers that write, create and copy the same path at once leave whole files and lose none', async t => {
  const { provider, fake, rootId, options, host } = await openWorld(t)
  const { clientId, clientSecret } = fake.oauth
  const other = await googleDriveAdapter(options).open({ clientId, clientSecret, rootFolderId: rootId }, host)
  await put(provider, 'source', 'source')
  for (let round = 0; round < extent({ gate: 4, nightly: 20 }); round += 1) {
    const path = `folder ${round}/file`
    const results = await Promise.allSettled([put(provider, path, 'one'), put(other, path, 'two')])
    const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [['one', 'two'][i] ?? ''] : []))
    t.ok(winners.length > 0, 'somebody wins')
    const entries = await listAll(provider, `folder ${round}`)
    t.equal(entries.length, winners.length)
    t.ok(winners.includes((await get(provider, path)).toString()), 'the content is that of a write that succeeded')
    await Promise.all([provider, other].map(each => makeFolder(each, `made ${round}/deep`)))
    const copies = [provider, other].map(each => each.copy?.(at('source'), at(`copy ${round}`), { ...call(), ...keep }))
    const copied = await Promise.allSettled(copies)
    t.ok(copied.some(result => result.status === 'fulfilled'))
    await has(provider, `copy ${round}`, 'source')
  }
  const made = (await namesIn(provider, '')).filter(name => name.startsWith('made') || name.startsWith('folder'))
  t.strictSame(
    made.filter(name => name.includes('~')),
    [],
    'no folder has a twin',
  )
})

t.test('a provider never leaves its root folder', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const outside = fake.addFolder(fake.rootId, 'outside')
  const secret = fake.addFile(outside.id, 'secret', 'SECRET')
  const paths = [
    '../outside/secret',
    '..',
    '.',
    outside.id,
    secret.id,
    `(~${secret.id})`,
    `x (~${secret.id})`,
    `secret (~${secret.id})`,
  ]
  const quoted = [`' or name = 'secret`, `x') or ('${outside.id}' in parents`, `\\' or name = \\'secret`]
  for (const path of [...paths, ...quoted.map(name => `${name}/secret`), ...quoted]) {
    await isMissing(provider, path)
    await rejectsWith('NOT_FOUND', get(provider, path))
    await provider.delete(at(path), call())
    await provider.deleteTree?.(at(path), call())
  }
  t.notOk(fake.store.isTrashed(secret))
  t.strictSame(fake.store.childrenOf(rootId), [])
  await rejectsWith('INVALID_PATH', provider.delete(at(''), call()))
  await rejectsWith('INVALID_PATH', Promise.resolve(provider.deleteTree?.(at(''), call())))
  await makeFolder(provider, 'a')
  const into = provider.move?.(at('a'), at('a/b'), { ...call(), ...keep })
  await rejectsWith('INVALID_PATH', Promise.resolve(into))
})

t.test('a move whose response was lost is reported as a success', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const file = fake.addFile(rootId, 'file', 'content')
  fake.faults.fail({ method: 'PATCH', reason: 'lost', executed: true })
  await provider.move?.(at('file'), at('folder/moved'), { ...call(), ...keep })
  await has(provider, 'folder/moved', 'content')
  t.equal(file.name, 'moved')
})

t.test('deleted files go to the trash', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  await put(provider, 'folder/file', 'content')
  await put(provider, 'other', 'other')
  await provider.delete(at('folder/file'), call())
  await provider.delete(at('folder'), call())
  await put(provider, 'target', 'replaced')
  await provider.move?.(at('other'), at('target'), { ...call(), overwrite: true })
  t.equal(fake.faults.count({ method: 'DELETE' }), 0)
  t.equal(fake.store.childrenOf(rootId).filter(item => item.explicitlyTrashed).length, 2)
  const replaced = fake.store.childrenOf(rootId).find(item => item.name === 'target' && item.explicitlyTrashed)
  t.equal(Buffer.concat(replaced?.content?.chunks ?? []).toString(), 'replaced')
})

t.test('an overwrite keeps the id and the sharing of the file', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const file = fake.addFile(rootId, 'file', 'old')
  file.sharedWith.set('somebody@example.com', 'reader')
  await put(provider, 'file', 'new', true)
  await put(provider, 'file', Buffer.alloc(9_000_000), true)
  t.strictSame(
    fake.store.childrenOf(rootId).map(item => item.id),
    [file.id],
  )
  t.equal(file.content?.size, 9_000_000)
  await put(provider, 'source', 'source')
  const copy = provider.copy?.(at('source'), at('file'), { ...call(), overwrite: true })
  await rejectsWith('NOT_IN_ONE_STEP', Promise.resolve(copy))
})

t.test('a file that changes while it is opened is opened again', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const file = fake.addFile(rootId, 'file', 'before')
  const download = { method: 'GET', path: /alt=media/ }
  fake.faults.before({
    ...download,
    run: () => fake.store.setContent(file, contentOf([Buffer.from('after the change')])),
  })
  await has(provider, 'file', 'after the change')
  const grow = () => {
    fake.store.setContent(file, contentOf([...(file.content?.chunks ?? []), Buffer.from('.')]))
    fake.faults.before({ ...download, run: grow })
  }
  fake.faults.before({ ...download, run: grow })
  await rejectsWith('UNAVAILABLE', get(provider, 'file'))
  t.equal(fake.faults.count(download), 5, 'at most three times')
})

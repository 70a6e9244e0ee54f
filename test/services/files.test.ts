import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'
import { type ProviderClient, pageQuery, providerClient, transfers } from './transfers.ts'

async function withinOne(t: Test, here: ProviderClient): Promise<void> {
  await t.test('an entry can be renamed', async t => {
    await here.put('/r/old.txt', 'x')
    t.match(await here.run('rename', { path: '/r/old.txt', name: 'new.txt' }), { path: '/r/new.txt', name: 'new.txt' })
    await here.put('/r/other.txt', 'y')
    t.equal(await here.run('rename', { path: '/r/new.txt', name: 'other.txt' }), 'ALREADY_EXISTS')
    t.match(await here.run('rename', { path: '/r/new.txt', name: 'other.txt', conflict: 'RENAME' }), {
      name: 'other (1).txt',
    })
    t.match(await here.run('rename', { path: '/r/other (1).txt', name: 'other.txt', conflict: 'REPLACE' }), {
      name: 'other.txt',
    })
    t.same(await here.names('/r'), ['other.txt'])
    t.equal(await here.get('/r/other.txt'), 'x')
    t.match(
      await here.run('rename', { path: '/r/other.txt', name: 'other.txt' }),
      { name: 'other.txt' },
      'renaming an entry to its own name changes nothing',
    )
    for (const name of ['', '.', '..', 'a/b', 'a\\b', 'a\u0000', '%2e%2e', 'x'.repeat(2000)]) {
      t.equal(await here.run('rename', { path: '/r/other.txt', name }), 'INVALID_PATH', name.slice(0, 9))
    }
    t.equal(await here.run('rename', { path: '/r/missing', name: 'x' }), 'NOT_FOUND')
    t.match(await here.run('rename', { path: '/r', name: 'renamed' }), { __typename: 'Folder', path: '/renamed' })
    t.equal(await here.get('/renamed/other.txt'), 'x')
  })

  await t.test('the root cannot be changed, and a folder cannot be moved into itself', async t => {
    await here.put('/self/inner/x', 'x')
    t.equal(await here.run('rename', { path: '/', name: 'x' }), 'ROOT_IS_FIXED')
    t.equal(await here.run('delete', { path: '/', recursive: true }), 'ROOT_IS_FIXED')
    for (const operation of ['move', 'copy'] as const) {
      t.equal(await here.run(operation, { path: '/', toPath: '/x' }), 'ROOT_IS_FIXED')
      t.equal(await here.run(operation, { path: '/self', toPath: '/' }), 'ROOT_IS_FIXED')
      t.equal(await here.run(operation, { path: '/self', toPath: '/self/inner/self' }), 'INTO_ITSELF')
      t.match(await here.run(operation, { path: '/self/inner', toPath: '/self' }), /ALREADY_EXISTS/)
      t.equal(await here.run(operation, { path: '/self/inner/x', toPath: '/self/inner/x/y' }), 'NOT_A_FOLDER')
    }
    t.match(
      await here.run('move', { path: '/self', toPath: '/selfish' }),
      { path: '/selfish' },
      'a sibling whose name starts with the name of the folder',
    )
    t.match(await here.run('copy', { path: '/selfish', toPath: '/selfish2' }), { path: '/selfish2' })
    t.equal(await here.run('copy', { path: '/selfish', toPath: '/selfish', conflict: 'REPLACE' }), 'ALREADY_EXISTS')
  })

  await t.test('a folder with content is deleted only recursively', async t => {
    await here.put('/d/full/x', 'x')
    t.equal(await here.run('delete', { path: '/d/full' }), 'NOT_EMPTY')
    t.equal(await here.get('/d/full/x'), 'x')
    t.same(await here.run('delete', { path: '/d/full', recursive: true }), { deletedPath: '/d/full' })
    t.equal(await here.run('delete', { path: '/d/full', recursive: true }), 'NOT_FOUND')
    await here.run('createFolder', { path: '/d/empty' })
    t.same(await here.run('delete', { path: '/d/empty' }), { deletedPath: '/d/empty' })
  })

  await t.test('a folder is created with its parents', async t => {
    t.match(await here.run('createFolder', { path: '/new/deep/er' }), {
      __typename: 'Folder',
      path: '/new/deep/er',
      name: 'er',
    })
    t.equal(await here.run('createFolder', { path: '/new/deep' }), 'ALREADY_EXISTS')
    t.equal(await here.run('createFolder', { path: '/' }), 'ALREADY_EXISTS')
    await here.put('/new/file', 'x')
    t.equal(await here.run('createFolder', { path: '/new/file' }), 'ALREADY_EXISTS')
    t.equal(await here.run('createFolder', { path: '/new/file/below' }), 'NOT_A_FOLDER')
  })

  await t.test('concurrent uploads to one name: FAIL stores one, and RENAME gives each a name', async t => {
    const upload = (text: string, conflict: string) =>
      here.app.upload(here.token, here.providerId, '/up/file.bin', text, `&conflict=${conflict}`)
    const failing = await Promise.all(Array.from({ length: 10 }, (_, index) => upload(`fail ${index}`, 'fail')))
    t.same(failing.map(({ status }) => status).toSorted(), [201, ...Array.from({ length: 9 }, () => 409)])
    const renaming = await Promise.all(Array.from({ length: 10 }, (_, index) => upload(`rename ${index}`, 'rename')))
    t.same(new Set(renaming.map(({ status }) => status)), new Set([201]))
    const names = await here.names('/up')
    t.equal(names.length, 11, names.join(', '))
    const texts = await Promise.all(names.map(name => here.get(`/up/${name}`)))
    t.equal(texts.filter(text => text?.startsWith('rename')).length, 10)
  })

  await t.test('paging works while files are added and removed', async t => {
    const kept = Array.from({ length: 60 }, (_, index) => `kept-${String(index * 7).padStart(4, '0')}`)
    await Promise.all(kept.map(name => here.put(`/pages/${name}`, '')))
    const seen: string[] = []
    let after: string | null = null
    for (let page = 0, more = true; more; page++) {
      const { folder } = await here.app.ask(
        pageQuery,
        { providerId: here.providerId, path: '/pages', first: 7, after },
        here.token,
      )
      t.equal(folder.entries.pageInfo.hasPreviousPage, after !== null)
      seen.push(...folder.entries.nodes.map((node: { name: string }) => node.name))
      after = folder.entries.pageInfo.endCursor
      more = folder.entries.pageInfo.hasNextPage
      await here.put(`/pages/came-${page}`, '')
      await here.put(`/pages/zcame-${page}`, '')
      if (page > 0) await here.run('delete', { path: `/pages/came-${page - 1}` })
      if (page > 40) throw new Error('The listing does not end')
    }
    t.same(seen.filter(name => name.startsWith('kept')).toSorted(), kept)
    t.equal(new Set(seen).size, seen.length, 'none twice')
  })

  await t.test('the cursor of an edge continues after it', async t => {
    const ask = async (after?: string) =>
      (await here.app.ask(pageQuery, { providerId: here.providerId, path: '/pages', first: 5, after }, here.token))
        .folder.entries
    const first = await ask()
    const names = (page: { edges: { node: { name: string } }[] }) => page.edges.map(edge => edge.node.name)
    const next = await ask(first.edges[1].cursor)
    t.same(names(next).slice(0, 3), names(first).slice(2))
    await here.run('delete', { path: `/pages/${names(first)[1]}` })
    t.same(names(await ask(first.edges[1].cursor)), names(next), 'the cursor still works after its entry was deleted')
    const { errors } = await here.app.graphql(
      pageQuery,
      { providerId: here.providerId, path: '/pages', first: 5, after: `${first.edges[1].cursor}x` },
      here.token,
    )
    t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_CURSOR' } }])
    for (const first of [0, -1, 1001]) {
      const response = await here.app.graphql(
        pageQuery,
        { providerId: here.providerId, path: '/pages', first },
        here.token,
      )
      t.match(response.errors, [{ extensions: { code: 'BAD_USER_INPUT' } }])
    }
  })
}

t.test('files', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const local = providerClient(app, token, await app.connectProvider(token, 'local', { root: app.folder }))
  const memory = providerClient(app, token, await app.connectProvider(token, 'memory', {}))
  const other = providerClient(app, token, await app.connectProvider(token, 'memory', {}, 'other'))

  await t.test('local', t => withinOne(t, local))
  await atNight(t, 'memory', t => withinOne(t, memory))
  const pairs = [
    ['local to local', local, local],
    ['memory to memory', memory, memory],
    ['one memory to another', memory, other],
    ['local to memory', local, memory],
    ['memory to local', memory, local],
  ] as const
  for (const [name, from, to] of pairs.filter(([name]) =>
    extent({ gate: name === 'memory to local', nightly: true }),
  )) {
    for (const path of ['/a', '/b', '/c', '/copy', '/move', '/race', '/won-copy', '/won-move']) {
      for (const one of [from, to]) await one.run('delete', { path, recursive: true })
    }
    for (const operation of ['copy', 'move']) {
      for (const path of [`/tree-${operation}`, `/target-${operation}`, `/target-${operation} (1)`]) {
        for (const one of [from, to]) await one.run('delete', { path, recursive: true })
      }
    }
    await t.test(name, t => transfers(t, from, to))
  }

  await atNight(t, 'files added to a folder while it is moved stay in the source', async t => {
    await mkdir(join(app.folder, 'moving'))
    await Promise.all(
      Array.from({ length: 300 }, (_, index) => writeFile(join(app.folder, 'moving', `f${index}`), 'x'.repeat(1000))),
    )
    const moving = local.run('move', { path: '/moving', toProviderId: other.providerId, toPath: '/moving' })
    for (let index = 0; (await readdir(join(app.folder, 'moving')).catch(() => [])).length > 0 && index < 40; index++) {
      await writeFile(join(app.folder, 'moving', `late${index}`), 'late').catch(() => {})
    }
    const outcome = await moving
    const remaining: string[] = await readdir(join(app.folder, 'moving')).catch(() => [])
    const there: string[] = await other.names('/moving').catch(() => [])
    for (let index = 0; index < 300; index++) {
      if (!remaining.includes(`f${index}`) && !there.includes(`f${index}`)) t.fail(`f${index} is lost`)
    }
    t.ok(typeof outcome === 'object' || outcome === 'PRECONDITION_FAILED', JSON.stringify(outcome))
  })

  await t.test('a provider whose local folder disappears says what is wrong', async t => {
    const root = join(app.folder, 'mounted')
    await mkdir(root)
    const providerId = await app.connectProvider(token, 'local', { root }, 'mounted')
    await rm(root, { recursive: true })
    const { testProvider } = await app.ask(
      'mutation ($id: ID!) { testProvider(id: $id) { status statusReason } }',
      { id: providerId },
      token,
    )
    t.equal(testProvider.status, 'UNAVAILABLE')
    t.match(testProvider.statusReason, /\S/)
    await mkdir(root)
    t.match(
      await app.ask('mutation ($id: ID!) { testProvider(id: $id) { status statusReason } }', { id: providerId }, token),
      {
        testProvider: { status: 'CONNECTED', statusReason: null },
      },
    )
  })

  t.equal(await readFile(join(app.folder, 'won-copy'), 'utf8').catch(() => ''), await local.get('/won-copy'))
})

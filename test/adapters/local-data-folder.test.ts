/** No local provider can open the server's own data, whatever path leads to its folder. */
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { reachesData } from '../../adapters/backends/local/config.ts'
import { listFolders } from '../../adapters/backends/local/folders.ts'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { testHost } from '../../adapters/conformance/index.ts'
import { startApp } from '../support/app.ts'

async function folders(t: Test) {
  const top = await realpath(await mkdtemp(join(tmpdir(), 'stowage-data-')))
  t.teardown(() => rm(top, { recursive: true, force: true }))
  const data = join(top, 'app', 'data')
  for (const path of ['files/team', 'postgres/data', 'filesystem']) await mkdir(join(data, path), { recursive: true })
  await mkdir(join(top, 'beside'))
  return { top, data }
}

t.test('a root that contains the data folder or is in it is refused', async t => {
  const { top, data } = await folders(t)
  await symlink(data, join(top, 'beside', 'to-data'))
  await symlink(top, join(top, 'beside', 'up'))
  await symlink(join(data, 'files'), join(top, 'beside', 'to-files'))
  await symlink('../postgres', join(data, 'files', 'out'))
  const refused = ['.', 'app', 'app/data', 'app/data/postgres', 'app/data/postgres/data', 'app/data/filesystem']
  const links = ['beside/to-data', 'beside/to-data/postgres', 'beside/up', 'beside/up/app', 'app/data/files/out']
  const missing = ['app/data/not-yet', 'app/data/postgres/not/yet', 'beside/to-data/not-yet']
  const allowed = [
    'beside',
    'app/data/files',
    'app/data/files/team',
    'app/data/files/not-yet',
    'beside/to-files',
    'not/yet',
  ]
  for (const path of [...refused, ...links, ...missing]) t.equal(await reachesData(join(top, path), data), true, path)
  t.equal(await reachesData('/', data), true)
  for (const path of allowed) t.equal(await reachesData(join(top, path), data), false, path)

  const open = (root: string) => localAdapter({ localRoots: ['/'], dataFolder: data }).open({ root }, testHost())
  for (const path of [...refused, ...links]) {
    await t.rejects(open(join(top, path)), { code: 'INVALID_CONFIG', message: /own data/ }, path)
  }
  for (const path of ['beside', 'app/data/files', 'beside/to-files']) await (await open(join(top, path))).close?.()
})

t.test('people choose from folders in the allowed ones, but not from those of the data', async t => {
  const { top, data } = await folders(t)
  for (const path of ['beside/b', 'beside/a', 'beside/.hidden']) await mkdir(join(top, path))
  await symlink('/', join(top, 'beside', 'out'))
  const signal = new AbortController().signal
  const options = { localRoots: [join(top, 'app'), join(top, 'beside')], dataFolder: data }
  const list = (path: string | null, limit = 10) => listFolders(path, options, { signal, limit })
  const names = async (path: string | null) => (await list(path)).folders.map(({ name }) => name)
  t.same(await names(null), options.localRoots)
  const found = await list(join(top, 'beside'))
  t.same(
    found.folders.map(({ name }) => name),
    ['a', 'b'],
  )
  t.match(found, { path: join(top, 'beside'), parent: null, isComplete: true })
  t.match(await list(join(top, 'beside', 'a')), { parent: join(top, 'beside'), folders: [] })
  t.match(await list(join(top, 'beside'), 1), { folders: [{}], isComplete: false })
  t.same(await names(join(top, 'app')), [], 'the data folder itself is left out')
  t.same(await names(join(data, 'files')), ['team'])
  const outside = ['beside/out', 'beside/../..', '.', 'app/data', 'app/data/postgres', 'missing', 'beside/.hidden/x']
  for (const path of outside) await t.rejects(list(`${top}/${path}`), { code: 'INVALID_CONFIG' }, path)
  await t.rejects(
    listFolders(join(top, 'beside'), options, { signal: AbortSignal.abort(new Error('over')), limit: 9 }),
    {
      message: 'over',
    },
  )
})

t.test('the data folder is protected before it exists', async t => {
  const { top } = await folders(t)
  const data = join(top, 'later', 'data')
  t.equal(await reachesData(top, data), true)
  t.equal(await reachesData(join(top, 'beside'), data), false)
  t.equal(await reachesData(join(data, 'files'), data), false)
})

t.test('a link named "files" into the data folder is refused', async t => {
  const { data } = await folders(t)
  await rename(join(data, 'files'), join(data, 'away'))
  await symlink('postgres', join(data, 'files'))
  t.equal(await reachesData(join(data, 'files'), data), true)
  await rm(join(data, 'files'))
  await symlink('..', join(data, 'files'))
  t.equal(await reachesData(join(data, 'files'), data), true)
})

t.test('the data folder is refused even if STOWAGE_LOCAL_ROOTS allows it', async t => {
  const { top, data } = await folders(t)
  const app = await startApp(t, { settings: { localRoots: [top], dataFolder: data } })
  const { token } = await app.register('owner@example.org')
  for (const root of [top, data, join(data, 'postgres')]) {
    const { errors } = await app.graphql(
      'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }',
      { input: { type: 'local', name: 'x', config: { root } } },
      token,
    )
    t.match(errors, [{ extensions: { reason: 'INVALID_CONFIG' } }], root)
  }
  await app.connectProvider(token, 'local', { root: join(data, 'files') })
})

/**
 * Stops a server between any two steps that replace a file. The old content or the new one is at the path, and another server lists a
 * version that was kept. If the first server was only paused, it then continues.
 */
import { link, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, StoragePath, StorageProvider } from '../../adapters/contract.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { until } from '../support/until.ts'

const moments = ['before it is kept', 'before it is replaced', 'after it is replaced'] as const
type Moment = (typeof moments)[number]

/** A local disk that calls `pass` at each moment of a write that replaces a file. */
function stopping(folder: string, pass: (moment: Moment) => Promise<void> = async () => {}): AdapterDefinition {
  const definition = localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }) as AdapterDefinition
  return {
    ...definition,
    async open(config, host) {
      const provider = await definition.open(config, host)
      const write: StorageProvider['write'] = async (path, body, { keep, ...options }) => {
        const stored = await provider.write(path, body, {
          ...options,
          ...(keep && {
            keep: preserve =>
              keep(async to => {
                await pass('before it is kept')
                const entry = await preserve(to)
                await pass('before it is replaced')
                return entry
              }),
          }),
        })
        if (keep && (await readFile(join(folder, 'files', path), 'utf8')) === 'new') await pass('after it is replaced')
        return stored
      }
      return changed(provider, { write })
    },
  }
}

/** Returns a provider with other methods than those of `provider`; undefined is none. */
function changed(
  provider: StorageProvider,
  methods: { [Name in keyof StorageProvider]?: StorageProvider[Name] | undefined },
) {
  return new Proxy(provider, {
    get(target, name) {
      if (name in methods) return Reflect.get(methods, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Returns the sizes of the versions of the file. */
async function versionsOf(app: TestApp, token: string, providerId: string): Promise<number[]> {
  const query = 'query ($id: ID!) { versions(providerId: $id, path: "/file.txt") { nodes { size } } }'
  const { versions } = await app.ask(query, { id: providerId }, token)
  return versions.nodes.map(({ size }: { size: number }) => size)
}

const settings = { versionCount: 20 }

/** Starts a server with a local disk, whose first upload stops at a moment until `released` resolves. */
async function startStopping(t: Test, moment: string) {
  const [stopped, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.teardown(() => released.resolve())
  const app = await startApp(t, {
    settings,
    adapters: folder => [
      stopping(folder, async now => {
        if (now !== moment) return
        stopped.resolve()
        await released.promise
      }),
    ],
  })
  const { token } = await app.register('owner@example.org')
  const root = join(app.folder, 'files')
  await mkdir(root)
  const providerId = await app.connectProvider(token, 'local', { root })
  return { app, token, root, providerId, stopped, released }
}

for (const moment of moments) {
  t.test(`a server that stops ${moment}`, async t => {
    const { app, token, root, providerId, stopped, released } = await startStopping(t, moment)
    const versions = () => versionsOf(app, token, providerId)
    const content = () => readFile(join(root, 'file.txt'), 'utf8')
    const kept = async () => (await readdir(join(root, '.stowage-trash')).catch(() => [])).length
    await writeFile(join(root, 'file.txt'), 'the old content')

    const uploading = app.upload(token, providerId, '/file.txt', 'new', '&conflict=replace')
    await stopped.promise
    t.same([await content(), await versions()], [moment === 'after it is replaced' ? 'new' : 'the old content', []])
    // As if the lease of the first server had ended.
    await sql`update file_versions set due_at = now()`.execute(app.db)
    const other = await app.replica({ settings, adapters: [stopping(app.folder)] })
    if (moment === 'after it is replaced') await until(async () => (await versions()).length === 1)
    else {
      const later = sql`select 1 from file_versions where state = 'KEEPING' and due_at > now() + interval '30 minutes'`
      await until(async () => (await later.execute(app.db)).rows.length === 1)
      t.same([await content(), await versions()], ['the old content', []], 'another server looks again later')
    }
    released.resolve()
    t.ok((await uploading).ok, 'the first server was only paused')
    t.same([await content(), await versions(), await kept()], ['new', [15], 1])
    await other.close()
  })
}

for (const moment of ['before it is replaced', 'after it is replaced'] as const) {
  t.test(`another server changes the file while one is paused ${moment}`, async t => {
    const { app, token, root, providerId, stopped, released } = await startStopping(t, moment)
    const query = 'query ($id: ID!) { versions(providerId: $id, path: "/file.txt") { nodes { id size } } }'
    const versions = async () => (await app.ask(query, { id: providerId }, token)).versions.nodes
    const content = () => readFile(join(root, 'file.txt'), 'utf8')
    await writeFile(join(root, 'file.txt'), 'the old content')
    const uploading = app.upload(token, providerId, '/file.txt', 'new', '&conflict=replace')
    await stopped.promise
    // As if the leases of the first server had ended.
    await sql`update file_versions set due_at = now()`.execute(app.db)
    await sql`delete from locks`.execute(app.db)
    const other = await app.replica({ settings, adapters: [stopping(app.folder)] })
    if (moment === 'before it is replaced') {
      t.ok((await other.upload(token, providerId, '/file.txt', 'of another server', '&conflict=replace')).ok)
      released.resolve()
      t.ok((await uploading).ok)
      t.same(
        [await content(), (await versions()).map(({ size }: { size: number }) => size).toSorted()],
        ['new', [15, 17]],
        'both contents are versions',
      )
    } else {
      await until(async () => (await versions()).length === 1)
      const [version] = await versions()
      const restore = 'mutation ($input: RestoreVersionInput!) { restoreVersion(input: $input) { path } }'
      await other.ask(restore, { input: { id: version.id, conflict: 'RENAME' } }, token)
      released.resolve()
      t.ok((await uploading).ok)
      t.same([await content(), await versions()], ['new', []], 'a version that was restored is not listed again')
    }
    await other.close()
  })
}

t.test('a server that copies and then stops has kept no version yet', async t => {
  const [stopped, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.teardown(() => released.resolve())
  const files: StorageProvider = new MemoryProvider(1_000_000)
  const call = { signal: new AbortController().signal, overwrite: true }
  const write: StorageProvider['write'] = async (path, body, options) => {
    // The file is copied before the body ends.
    const bytes = await buffer(body)
    if (path === 'file.txt') {
      stopped.resolve()
      await released.promise
    }
    return files.write(path, Readable.from([bytes]), options)
  }
  const copying: AdapterDefinition = {
    type: 'copying',
    apiVersion: 1,
    title: 'Memory that waits',
    configSchema: { type: 'object', properties: {} },
    open: async () => changed(files, { write, close: undefined }),
  }
  const app = await startApp(t, { adapters: [copying] })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'copying', {})
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(update, { input: { id, versionCount: 3 } }, token)
  const versions = () => versionsOf(app, token, id)
  await files.write('file.txt' as StoragePath, Readable.from(['the old content']), call)

  const uploading = app.upload(token, id, '/file.txt', 'new', '&conflict=replace')
  await stopped.promise
  await sql`update file_versions set due_at = now()`.execute(app.db)
  const other = await app.replica()
  const later = sql`select 1 from file_versions where state = 'KEEPING' and due_at > now() + interval '30 minutes'`
  await until(async () => (await later.execute(app.db)).rows.length === 1)
  t.same(await versions(), [], 'the copy is of the file that is still there')
  released.resolve()
  t.ok((await uploading).ok)
  t.same(await versions(), [15])
  await other.close()
})

t.test('what a killed server has kept without replacing the file is removed after a day', async t => {
  const app = await startApp(t, { settings })
  const { token, id } = await app.register('owner@example.org')
  const root = join(app.folder, 'files')
  await mkdir(join(root, '.stowage-trash'), { recursive: true })
  const providerId = await app.connectProvider(token, 'local', { root })
  await writeFile(join(root, 'file.txt'), 'content')
  const versionId = '01900000-0000-7000-8000-000000000000'
  await sql`insert into file_versions (id, provider_id, path, user_id, state, replaced_at, expires_at, due_at)
    values (${versionId}, ${providerId}, '/file.txt/', ${id}, 'KEEPING', now() - interval '2 days', '2099-01-01', now())`.execute(
    app.db,
  )
  await link(join(root, 'file.txt'), join(root, '.stowage-trash', versionId))
  const other = await app.replica()
  await until(async () => (await sql`select 1 from file_versions`.execute(app.db)).rows.length === 0)
  t.same(await readdir(join(root, '.stowage-trash')), [])
  t.equal(await readFile(join(root, 'file.txt'), 'utf8'), 'content')
  await other.close()
})

/** Jobs, versions and the trash of encrypted storages: nothing is stored in clear text, and what was exchanged below is found. */
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { send } from '../http/tus.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { runJob, startWorld } from './jobs-world.ts'

const world = await startWorld(t, { settings: { versionCount: 20, versionDays: 30, trashDays: 30 } })
const { app, token, a } = world
const root = join(app.folder, 'vault')
await mkdir(root)
const connecting = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
const input = { type: 'local', name: 'vault', config: { root }, encryption: { password: 'correct horse' } }
const vault: string = (await app.ask(connecting, { input }, token)).connectProvider.provider.id
const marker = 'no back end sees this'

/** The stored files by their path. */
async function storedFiles(): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

const readBytes = async (path: string) => (await app.download(token, vault, path)).arrayBuffer()

t.test('copies, kept copies, versions and the trash store no clear text', async t => {
  for (const name of ['one.txt', 'two.txt']) await app.upload(token, a, `/plain/${name}`, `${marker} ${name}`)
  const copied = await runJob(world, {
    kind: 'COPY',
    sources: [{ providerId: a, path: '/plain' }],
    target: { providerId: vault, path: '/' },
  })
  t.equal(copied.state, 'SUCCEEDED')
  const kept = { kind: 'KEEP_COPIES', repair: true, recheckDays: 0 }
  const sources = [
    { providerId: a, path: '/plain' },
    { providerId: vault, path: '/kept' },
  ]
  t.match(await runJob(world, { ...kept, sources }), { state: 'SUCCEEDED', progress: { files: 2, failed: 0 } })
  await app.upload(token, vault, '/plain/one.txt', `${marker} again`, '&conflict=replace')
  const target = { url: app.url, token, metadata: { providerId: vault, path: '/plain/sent.txt' } }
  await send(target, Buffer.from(`${marker} in parts`), { retryDelays: [] })
  const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
  await app.ask(remove, { input: { providerId: vault, path: '/plain/two.txt' } }, token)
  const restored = await runJob(world, {
    kind: 'RESTORE',
    sources: [{ providerId: vault, path: '/plain' }],
    restoreAt: new Date(Date.now() - 1).toISOString(),
  })
  t.equal(restored.state, 'SUCCEEDED')
  t.equal(Buffer.from(await readBytes('/kept/two.txt')).toString(), `${marker} two.txt`)

  const files = await storedFiles()
  t.ok(files.length >= 6, `${files.length} files`)
  for (const path of files) {
    const bytes = await readFile(path)
    if (bytes.length > 0) t.equal(bytes.toString('latin1', 0, 6), 'RCLONE', path)
    t.notOk(bytes.includes(marker), path)
  }
  const names = files.map(path => path.slice(root.length)).filter(path => !path.startsWith('/.stowage-staging/'))
  t.notMatch(names.join('\n'), /one|two|plain|kept|trash|version/)
})

atNight(t, 'contents that a back end exchanges without a trace are found by VERIFY', async t => {
  const contents = ['x', 'y'].map(letter => Buffer.alloc(3 * 65_536, letter))
  const before = new Set(await storedFiles())
  for (const [n, bytes] of contents.entries()) await app.upload(token, vault, `/checked/${n}`, bytes)
  const paths = (await storedFiles()).filter(file => !before.has(file))
  const stored = await Promise.all(
    paths.map(async path => ({ path, bytes: await readFile(path), stats: await stat(path) })),
  )
  for (const [n, { path, stats }] of stored.entries()) {
    await writeFile(path, stored[1 - n]?.bytes ?? '')
    await utimes(path, stats.atime, stats.mtime)
  }
  t.ok(Buffer.from(await readBytes('/checked/0')).equals(contents[1] ?? Buffer.alloc(0)), 'the format does not notice')
  const job = await runJob(world, { kind: 'VERIFY', sources: [{ providerId: vault, path: '/checked' }] })
  const failures = job.failures.nodes.map(({ path, reason }: Data) => `${path} ${reason}`)
  t.same(failures.sort(), ['/checked/0 DAMAGED', '/checked/1 DAMAGED'])
})

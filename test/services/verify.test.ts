/** A VERIFY finds bytes that have changed on a disk or a server while nothing has written to the file, and what is missing. */
import { open, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startSshd } from '../servers/sshd.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { control, create, ended, fill, runJob, startWorld, tree } from './jobs-world.ts'

const world = await startWorld(t)
const { app, token, a, b, rootA, rootB } = world

/** Changes one bit of a file as a disk does: the time of the file stays. */
async function flip(path: string): Promise<void> {
  const { atime, mtime } = await stat(path)
  const file = await open(path, 'r+')
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: 3 })
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, 3)
  await file.close()
  await utimes(path, atime, mtime)
}

async function known(providerId: string, folder: string, count: number): Promise<void> {
  await until(async () => {
    const { rows } = await sql`
      select from content_checksums where provider_id = ${providerId} and starts_with(path, ${folder})`.execute(app.db)
    return rows.length === count || rows.length
  })
}

const verify = (providerId: string, path: string) => runJob(world, { kind: 'VERIFY', sources: [{ providerId, path }] })
const failuresOf = (job: { failures: { nodes: { path: string; reason: string }[] } }) =>
  job.failures.nodes.map(({ path, reason }) => `${reason} ${path}`).sort()

t.test('damage, gone files and edits on a disk', async t => {
  const names = ['good', 'flipped', 'edited', 'deleted', 'gone', 'sub/flipped', 'sub/moved']
  for (const name of names) await app.upload(token, a, `/disk/${name}`, `the bytes of ${name}`)
  await fill(rootA, { 'disk/outside': 'not through the server' })
  await known(a, 'disk/', names.length)
  t.match(await verify(a, '/disk'), { state: 'SUCCEEDED', progress: { files: 8, failed: 0, totalFiles: 8 } })

  await flip(join(rootA, 'disk/flipped'))
  await flip(join(rootA, 'disk/sub/flipped'))
  await flip(join(rootA, 'disk/outside'))
  await writeFile(join(rootA, 'disk/edited'), 'the BYTES of edited')
  await rm(join(rootA, 'disk/gone'))
  await app.ask(
    'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
    { input: { providerId: a, path: '/disk/deleted' } },
    token,
  )
  await app.ask(
    'mutation ($input: RenameInput!) { rename(input: $input) { id } }',
    { input: { providerId: a, path: '/disk/sub', name: 'new' } },
    token,
  )
  const found = await verify(a, '/disk')
  t.equal(found.state, 'FAILED')
  t.same(failuresOf(found), [
    'DAMAGED /disk/flipped',
    'DAMAGED /disk/new/flipped',
    'DAMAGED /disk/outside',
    'NOT_FOUND /disk/gone',
  ])
  t.match(found.progress, { files: 3, failed: 4 })
  const again = await verify(a, '/disk')
  t.same(
    failuresOf(again),
    ['DAMAGED /disk/flipped', 'DAMAGED /disk/new/flipped', 'DAMAGED /disk/outside'],
    'what is gone is reported once, and damage until the file is written again',
  )
  for (const path of ['flipped', 'new/flipped', 'outside'])
    await app.upload(token, a, `/disk/${path}`, 'x', '&conflict=replace')
  await control(world, 'retryJob', again.id)
  t.match(await ended(world, again.id), { state: 'SUCCEEDED', progress: { failed: 0 } })
})

t.test('a copy of damaged bytes is not known as good, and neither is what was never read', async t => {
  await fill(rootB, { 'unknown/one': 'first', 'unknown/two': 'other' })
  await flip(join(rootB, 'unknown/one'))
  t.match(await verify(b, '/unknown'), { state: 'SUCCEEDED', progress: { files: 2 } }, 'nobody knew these bytes')
  await flip(join(rootB, 'unknown/one'))
  t.same(failuresOf(await verify(b, '/unknown/one')), ['DAMAGED /unknown/one'], 'a file is a source, too')
  const dry = await runJob(world, { kind: 'VERIFY', sources: [{ providerId: b, path: '/unknown' }], dryRun: true })
  t.match(dry, { state: 'SUCCEEDED', progress: { files: 2 } }, 'a dry run reads nothing')
})

atNight(t, 'a damaged file is not copied over a good one', async t => {
  for (const name of ['one', 'two']) await app.upload(token, a, `/c/${name}`, `the bytes of ${name}`)
  await known(a, 'c/', 2)
  const copy = (kind: string, more = {}) =>
    runJob(world, { kind, sources: [{ providerId: a, path: '/c' }], target: { providerId: b, path: '/' }, ...more })
  t.match(await copy('COPY'), { state: 'SUCCEEDED' })
  await known(b, 'c/', 2)
  await flip(join(rootA, 'c/one'))
  await writeFile(join(rootA, 'c/two'), 'an edit')
  for (const kind of ['COPY', 'MOVE']) {
    const job = await copy(kind, { conflict: 'REPLACE' })
    t.same(failuresOf(job), ['DAMAGED /c/one'])
    t.match(await tree(join(rootB, 'c')), { one: 'the bytes of one', two: 'an edit' })
  }
  t.match(await tree(join(rootA, 'c')), { one: String }, 'a move keeps it, too')
  t.match(await verify(b, '/c'), { state: 'SUCCEEDED', progress: { files: 2 } })
})

atNight(t, 'damage on an SFTP server, whose times are whole seconds', async t => {
  const server = await startSshd(t)
  const { host, port, user, privateKey, passphrase, hostKey, root } = server
  const config = { host, port, user, privateKey, passphrase, hostKey, folder: root }
  const sftp = await app.connectProvider(token, 'sftp', config)
  for (const name of ['good', 'flipped']) await app.upload(token, sftp, `/s/${name}`, `the bytes of ${name}`)
  await known(sftp, 's/', 2)
  await flip(join(root, 's/flipped'))
  t.same(failuresOf(await verify(sftp, '/s')), ['DAMAGED /s/flipped'])
})

t.test('it needs to read its sources, and nothing else', async t => {
  const restrictions = [{ providerId: a, basePath: '/disk' }]
  const { key } = await app.createKey(token, { name: 'r', scopes: ['read'], providerAccess: { restrictions } })
  const input = (path: string, more = {}) => ({ kind: 'VERIFY', sources: [{ providerId: a, path }], ...more })
  const reasonOf = async (of: object) => (await app.graphql(create, { input: of }, key)).errors[0]?.extensions.reason
  t.equal(await reasonOf(input('/disk')), undefined)
  t.equal(await reasonOf(input('/')), 'OUTSIDE_BASE_PATH')
  t.equal(await reasonOf(input('/disk', { target: { providerId: a, path: '/disk/x' } })), 'INVALID_INPUT')
})

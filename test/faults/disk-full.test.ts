/** Uploads to a full disk fail with a clear error and leave nothing. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, rmdir, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { send } from '../http/tus.ts'
import { isNight } from '../support/extent.ts'
import { temporaryFolder } from '../support/program.ts'
import { sha256 } from './ledger.ts'
import { until } from './load.ts'
import { staged, startWorld } from './world.ts'

const run = promisify(execFile)
const mib = 1024 * 1024

const mount = (folder: string) => run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', folder])

/** Returns the reason to skip the test, or false. */
async function mountRefusal(): Promise<string | false> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-mount-'))
  try {
    await mount(folder)
    await run('umount', [folder])
    return false
  } catch {
    return 'only a user who can mount (root, outside most containers) can create a small disk'
  } finally {
    await rmdir(folder)
  }
}

/** Mounts a disk of 8 MiB. */
async function smallDisk(t: Test): Promise<string> {
  const disk = join(await temporaryFolder(t), 'disk')
  await mkdir(disk)
  await mount(disk)
  // Unmount before the folder is removed. The program may still be stopping.
  t.teardown(async () => void (await run('umount', ['--lazy', disk])))
  return disk
}

t.test('an upload to a full disk fails and leaves nothing', { skip: await mountRefusal() }, async t => {
  const disk = await smallDisk(t)
  const world = await startWorld(t, { files: disk })
  const free = async () => {
    const { bavail, bsize } = await statfs(disk)
    return bavail * bsize
  }
  const kept = randomBytes(5 * mib)
  t.equal((await world.upload(world.token, world.local, '/kept.bin', kept)).status, 201)
  const before = await free()

  const large = randomBytes(6 * mib)
  const bodies = {
    'with a size': () => large,
    'without a size': () => Readable.toWeb(Readable.from([large.subarray(0, mib), large.subarray(mib)])),
  }
  for (const [what, body] of Object.entries(bodies)) {
    for (const query of ['', '&conflict=rename', '&conflict=replace']) {
      const path = query.endsWith('replace') ? '/kept.bin' : '/large.bin'
      const response = await world.upload(world.token, world.local, path, body() as BodyInit, query)
      t.equal(response.status, 507, `${what} ${query}`)
      const { errors } = (await response.json()) as { errors: { message: string; extensions: { reason: string } }[] }
      t.match(errors, [{ message: /^The disk, or the quota on it, is full: free some space\.$/ }])
      t.equal(errors[0]?.extensions.reason, 'QUOTA_EXCEEDED')
      t.same(await staged(world), [])
      t.same((await readdir(disk)).sort(), ['.stowage-staging', 'kept.bin'])
      t.equal(await free(), before, 'all blocks are free again')
    }
  }
  t.equal(await world.content(world.local, '/kept.bin'), sha256(kept))

  if (!isNight) return
  const copy = 'mutation ($input: CopyInput!) { copy(input: $input) { path } }'
  const input = { providerId: world.local, path: '/kept.bin', toPath: '/copy.bin' }
  const { errors } = await world.graphql(copy, { input }, world.token)
  t.equal(errors[0]?.extensions.reason, 'QUOTA_EXCEEDED')
  t.equal(await free(), before)

  const target = { url: world.url, token: world.token, metadata: { providerId: world.local, path: '/resumed.bin' } }
  await t.rejects(send(target, large, { retryDelays: [0] }), /413.*QUOTA_EXCEEDED/)
  t.notOk((await world.names(world.local)).includes('resumed.bin'))

  const given = new Set(await staged(world))
  const late = { ...target, metadata: { ...target.metadata, path: '/late.bin' } }
  const sent = send(late, large, { retryDelays: Array(100).fill(100), onShouldRetry: () => true })
  await until(async () => (await staged(world)).length > given.size || (await staged(world)))
  await rm(join(disk, 'kept.bin'))
  for (const name of given) await rm(join(disk, '.stowage-staging', name))
  t.equal((await sent).path, '/late.bin', 'an upload continues once there is space')
  t.equal(await world.content(world.local, '/late.bin'), sha256(large))
})

/** The user and the folder that PostgreSQL runs in: as root, as a normal user, and below closed folders. */
import { chmod, chown, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { recordedPostmaster } from '../../../src/db/embedded/processes.ts'
import { atNight, isNight } from '../../support/extent.ts'
import {
  AS_ROOT,
  cluster,
  NOBODY,
  nothingLeft,
  preparedFolder,
  programsWithoutLinks,
  query,
  serverProcess,
  start,
  temporaryFolder,
} from './harness.ts'

const reason = 'only root can become another user'
const needsRoot = { skip: AS_ROOT ? false : reason }
const asRootAtNight = (name: string, run: (t: Test) => Promise<void>) =>
  atNight(t, name, t => (AS_ROOT ? run(t) : t.plan(0, `NOT TESTED: ${reason}.`)))

atNight(t, 'PostgreSQL starts from read-only programs without library links', async t => {
  const binaries = await programsWithoutLinks(t, 0o755)
  const before = await readdir(join(binaries, '../lib'))
  const dataFolder = await temporaryFolder(t)
  const server = await start(t, dataFolder, { binaries })
  t.same(await query(server.connection, "SELECT 'ü' COLLATE unicode < 'z' AS icu"), [{ icu: true }])
  t.equal(await programOf(dataFolder), join(binaries, 'postgres'))
  t.same(await readdir(join(binaries, '../lib')), before)
  t.ok((await readdir(join(dataFolder, 'postgres/lib/18'))).includes('libpq.so.5'))
})

t.test('as root, PostgreSQL runs unprivileged below folders that are closed to it', needsRoot, async t => {
  const dataFolder = await (isNight ? temporaryFolder(t) : preparedFolder(t))
  t.equal((await stat(dataFolder)).mode & 0o777, 0o700)
  await start(t, dataFolder)
  const pid = await recordedPostmaster(cluster(dataFolder))
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const [, uid] = /^Uid:\t(\d+)\t/m.exec(status) ?? []
  t.ok(Number(uid) > 0)
  t.equal((await stat(cluster(dataFolder))).uid, Number(uid))
  t.match(status, /^Groups:\t *$/m, 'the process has no groups of root')
  t.equal((await stat(join(dataFolder, 'postgres'))).uid, 0, 'the user cannot create links where root writes')
})

asRootAtNight('as root, PostgreSQL starts from programs that the unprivileged user cannot read', async t => {
  const binaries = await programsWithoutLinks(t, 0o700)
  const dataFolder = await temporaryFolder(t)
  const first = await start(t, dataFolder, { binaries })
  const copy = dirname(await programOf(dataFolder))
  t.teardown(() => rm(dirname(copy), { recursive: true, force: true }))
  t.match(copy, /^\/var\/cache\/stowage\/postgres-[0-9a-f]{16}\/bin$/)
  t.same(await query(first.connection, "SELECT 'ü' COLLATE unicode < 'z' AS icu"), [{ icu: true }])
  const { ino } = await stat(copy)
  await first.stop()
  await start(t, dataFolder, { binaries })
  t.equal((await stat(copy)).ino, ino, 'copied once')
})

asRootAtNight('a normal user and root can start the same cluster in turn', async t => {
  const binaries = await programsWithoutLinks(t, 0o755)
  const dataFolder = await temporaryFolder(t, NOBODY)
  for (const useWatchdog of [false, true]) {
    const plain = serverProcess(t, { dataFolder, binaries, useWatchdog, ...NOBODY })
    t.equal((await plain.wait('ready')).ready.owner, true)
    await plain.kill()
    t.equal(await nothingLeft(dataFolder), true)
  }
  const asRoot = await start(t, dataFolder, { binaries })
  t.equal((await stat(cluster(dataFolder))).uid, NOBODY.uid, 'root runs PostgreSQL as the owner of the cluster')
  await asRoot.stop()
  const plain = serverProcess(t, { dataFolder, binaries, ...NOBODY })
  await plain.wait('ready')
  await plain.stop()
})

t.test('a data folder of another user is refused in one sentence', needsRoot, async t => {
  const binaries = await programsWithoutLinks(t, 0o755)
  const dataFolder = await preparedFolder(t, NOBODY)
  const stranger = serverProcess(t, { dataFolder, binaries, ...NOBODY })
  t.match(await stranger.wait('error'), {
    name: 'EmbeddedPostgresError',
    error: /belongs to user id 0 and this is user id 65534: start Stowage as that user or as root, or choose another/,
  })
  if (!isNight) return
  const nameless = await temporaryFolder(t, { uid: 54_321, gid: 54_321 })
  const unknown = serverProcess(t, { dataFolder: nameless, binaries, uid: 54_321, gid: 54_321 })
  t.match(await unknown.wait('error'), { error: /needs a name for user id 54321: add it to \/etc\/passwd/ })
})

asRootAtNight('a cluster that root copied gets the owner of the data folder', async t => {
  const dataFolder = await preparedFolder(t)
  await chownAll(t, cluster(dataFolder))
  const server = await start(t, dataFolder)
  t.same(await query(server.connection, 'SELECT 1 AS one'), [{ one: 1 }])
})

async function programOf(dataFolder: string): Promise<string> {
  return readlink(`/proc/${await recordedPostmaster(cluster(dataFolder))}/exe`)
}

async function chownAll(t: Test, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) await chown(join(folder, entry), 0, 0)
  await chown(folder, 0, 0)
  await chmod(folder, 0o755)
  t.equal((await stat(folder)).uid, 0)
}

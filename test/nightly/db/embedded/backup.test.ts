import { cp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { backupEmbedded } from '../../../../src/db/embedded/backup.ts'
import { cluster, preparedFolder, query, serverProcess, start, temporaryFolder } from '../../../db/embedded/harness.ts'

t.test('a backup under load, from another process, restores every commit made before it', async t => {
  const dataFolder = await preparedFolder(t)
  const destination = join(await temporaryFolder(t), 'backup')
  const server = serverProcess(t, { dataFolder, write: true, settings: { ...SMALL_LOG } })
  await server.wait('committed')
  const connection = { host: cluster(dataFolder), port: 5432, user: 'stowage', database: 'stowage' }
  await query(
    connection,
    'CREATE TABLE bulk AS SELECT n, repeat(md5(n::text), 8) AS filler FROM generate_series(1, 50000) n',
  )
  const before = await query(connection, 'SELECT max(id) AS id FROM written')
  // Enough writes and checkpoints to recycle the log from the start of the copy if nothing retained it.
  const noise = churn(connection)
  await backupEmbedded({ dataFolder, destination })
  await noise
  const after = await query(connection, 'SELECT max(id) AS id FROM written')
  t.ok(Number(after[0]?.id) > Number(before[0]?.id), 'the server kept writing')
  t.same(await query(connection, 'SELECT * FROM pg_replication_slots'), [])
  await server.stop()

  t.equal((await stat(destination)).mode & 0o777, 0o700)
  t.notOk((await readdir(destination)).includes('postmaster.pid'))
  await rename(cluster(dataFolder), `${cluster(dataFolder)}.away`)
  await cp(destination, cluster(dataFolder), { recursive: true })
  const restored = await start(t, dataFolder)
  t.match(restored.lines.join(), /starting backup recovery.*completed backup recovery/, 'the backup contains its label')
  t.same(await query(restored.connection, 'SELECT count(*)::int AS n, count(DISTINCT n)::int AS d FROM bulk'), [
    { n: 50_000, d: 50_000 },
  ])
  t.same(
    await query(
      restored.connection,
      `SELECT count(*)::int = ${Number(before[0]?.id)} AS whole FROM written WHERE id <= ${Number(before[0]?.id)}`,
    ),
    [{ whole: true }],
  )
  t.same(await query(restored.connection, 'SELECT count(*) > 0 AS churned FROM churned'), [{ churned: true }])
})

t.test('a failed backup says why and leaves nothing', async t => {
  const dataFolder = await preparedFolder(t)
  const parent = await temporaryFolder(t)
  const destination = join(parent, 'backup')
  const server = await start(t, dataFolder)
  const refused = (message: RegExp) =>
    t.rejects(backupEmbedded({ dataFolder, destination }), { name: 'EmbeddedPostgresError', message })
  await writeFile(destination, 'mine')
  await refused(/already exists: choose a new name/)
  await rm(destination)
  await t.rejects(backupEmbedded({ dataFolder, destination, signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' })
  await server.stop()
  await refused(/No Stowage runs on .*: start it/)
  t.same(await readdir(parent), [])
})

const SMALL_LOG = { max_wal_size: '32MB', min_wal_size: '32MB' }

async function churn(connection: Parameters<typeof query>[0]): Promise<void> {
  // The copy can end before the first of the long inserts, but not before this.
  await query(connection, "CREATE TABLE churned AS SELECT 'first' AS filler")
  for (let round = 0; round < 6; round++) {
    await query(connection, "INSERT INTO churned SELECT repeat('y', 1000) FROM generate_series(1, 15000)")
    await query(connection, 'CHECKPOINT', 'postgres')
    await sleep(1)
  }
}

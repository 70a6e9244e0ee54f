import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { chooseRunUser, claimCluster } from '../../../src/db/embedded/layout.ts'
import { processesIn, recordedPostmaster } from '../../../src/db/embedded/processes.ts'
import { atNight } from '../../support/extent.ts'
import { until } from '../../support/until.ts'
import { cluster, preparedFolder, query, serverProcess, start } from './harness.ts'

atNight(t, 'a start ignores a recorded process id that another program has now', async t => {
  const { dataFolder, data, owner } = await stoppedCluster(t)
  const stranger = spawn('sleep', ['60'], { ...owner, cwd: '/' })
  t.teardown(() => stranger.kill('SIGKILL'))
  await pretend(data, owner, stranger.pid)
  await works(t, dataFolder)
  t.equal(stranger.exitCode ?? stranger.signalCode, null, 'the other program still runs')
})

atNight(t, 'a start ignores a recorded process id of a zombie', async t => {
  const { dataFolder, data, owner } = await stoppedCluster(t)
  // The child exits after its parent has become `sleep`, which never reaps it.
  const child = 'until grep -q sleep /proc/$PPID/comm; do :; done'
  const parent = spawn('sh', ['-c', `sh -c '${child}' & echo $!; exec sleep 60`], { ...owner, cwd: '/' })
  t.teardown(() => parent.kill('SIGKILL'))
  const zombie = Number(String((await once(parent.stdout, 'data'))[0]))
  await until(async () => /^State:\tZ/m.test(await readFile(`/proc/${zombie}/status`, 'utf8')))
  await pretend(data, owner, zombie)
  await works(t, dataFolder)
})

atNight(t, 'a start ignores a recorded process id that does not exist', async t => {
  const { dataFolder, data, owner } = await stoppedCluster(t)
  const exited = spawn('true')
  await once(exited, 'exit')
  await pretend(data, owner, exited.pid)
  await works(t, dataFolder)
})

atNight(t, 'a start ends backends that survived their postmaster', async t => {
  const dataFolder = await preparedFolder(t)
  const { busy, server } = await withBusyBackend(t, dataFolder)
  process.kill((await recordedPostmaster(cluster(dataFolder))) ?? Number.NaN, 'SIGKILL')
  await server.kill()
  t.ok((await processesIn(cluster(dataFolder))).includes(busy), 'the backend survives in its endless loop')
  await works(t, dataFolder)
  t.notOk((await processesIn(cluster(dataFolder))).includes(busy))
})

t.test('a start takes over from a postmaster that survived its owner', async t => {
  const dataFolder = await preparedFolder(t)
  const { server } = await withBusyBackend(t, dataFolder)
  const postmaster = (await recordedPostmaster(cluster(dataFolder))) ?? Number.NaN
  // A stopped process does not handle the signal that it gets when its owner dies.
  process.kill(postmaster, 'SIGSTOP')
  await server.kill()
  t.ok((await processesIn(cluster(dataFolder))).includes(postmaster))
  setTimeout(() => process.kill(postmaster, 'SIGCONT'), 300)
  await works(t, dataFolder)
})

t.test("another program in the cluster's folder is not killed", async t => {
  const { dataFolder, data, owner } = await stoppedCluster(t)
  const visitor = spawn('sleep', ['60'], { ...owner, cwd: data })
  t.teardown(() => visitor.kill('SIGKILL'))
  await pretend(data, owner, visitor.pid)
  await works(t, dataFolder)
  t.equal(visitor.exitCode ?? visitor.signalCode, null)
})

interface Stopped {
  dataFolder: string
  data: string
  /** The user that runs PostgreSQL, for `spawn`. PostgreSQL considers only this user's processes as a postmaster. */
  owner: { uid: number; gid: number }
}

async function stoppedCluster(t: Test): Promise<Stopped> {
  const dataFolder = await preparedFolder(t)
  const data = cluster(dataFolder)
  await claimCluster(data, await chooseRunUser(data))
  const { uid, gid } = await stat(data)
  return { dataFolder, data, owner: { uid, gid } }
}

/** Writes the files that a killed server with this process id leaves. */
async function pretend(data: string, owner: Stopped['owner'], pid: ChildProcess['pid']): Promise<void> {
  const files = {
    'postmaster.pid': `${pid}\n${data}\n1795247511\n5432\n.\n\n  1        4\nready   \n`,
    '.s.PGSQL.5432.lock': `${pid}\n${data}\n1795247511\n5432\n.\n`,
    '.s.PGSQL.5432': '',
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(data, name), text)
    await chown(join(data, name), owner.uid, owner.gid)
  }
}

async function withBusyBackend(t: Test, dataFolder: string) {
  const server = serverProcess(t, { dataFolder })
  const { host } = (await server.wait('ready')).ready
  const client = new pg.Client({ host, port: 5432, user: 'stowage', database: 'stowage' })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  client.query('DO $$ BEGIN LOOP END LOOP; END $$').catch(() => undefined)
  const busy = Number(rows[0].pid)
  await until(async () => /^State:\tR/m.test(await readFile(`/proc/${busy}/status`, 'utf8')))
  return { server, busy }
}

async function works(t: Test, dataFolder: string): Promise<void> {
  const server = await start(t, dataFolder)
  t.same(await query(server.connection, 'SELECT 1 AS one'), [{ one: 1 }])
  await access(join(server.connection.host, '.s.PGSQL.5432'))
}

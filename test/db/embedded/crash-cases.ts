/** What kill -9 leaves behind, and that the next start mends it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { processesIn, recordedPostmaster } from '../../../src/db/embedded/processes.ts'
import { until } from '../../support/until.ts'
import {
  cluster,
  nothingLeft,
  preparedFolder,
  query,
  type ServerProcess,
  serverProcess,
  start,
  temporaryFolder,
} from './harness.ts'

/** Milliseconds, different each time and the same in every run. */
function moment(round: number, most: number): number {
  return Math.round(((round * 0.618_034) % 1) * most)
}

export function crashTests(t: Test, useWatchdog: boolean): void {
  t.test('killed while it writes: what was committed stays, no process or socket is left', async t => {
    const dataFolder = await preparedFolder(t)
    const committed: number[] = []
    for (let round = 1; round <= 4; round++) {
      const server = serverProcess(t, { dataFolder, useWatchdog, write: true, settings: {} })
      await commits(server)
      await sleep(moment(round, 150))
      await server.kill()
      committed.push(...server.told.flatMap(told => ('committed' in told ? [told.committed] : [])))
      // Every second time the next start meets the old server in its last moments.
      if (round % 2 === 1) t.equal(await nothingLeft(dataFolder), true, `round ${round}`)
    }
    await allThere(t, dataFolder, committed)
  })

  t.test('killed together with the postmaster', async t => {
    const dataFolder = await preparedFolder(t)
    const committed: number[] = []
    for (let round = 1; round <= 2; round++) {
      const server = serverProcess(t, { dataFolder, useWatchdog, write: true, settings: {} })
      await commits(server)
      await sleep(moment(round, 150))
      process.kill((await recordedPostmaster(cluster(dataFolder))) ?? Number.NaN, 'SIGKILL')
      await server.kill()
      committed.push(...server.told.flatMap(told => ('committed' in told ? [told.committed] : [])))
    }
    await allThere(t, dataFolder, committed)
  })

  t.test('killed at any moment of the first start', async t => {
    const dataFolder = await temporaryFolder(t)
    for (let round = 1; round <= 3; round++) {
      const server = serverProcess(t, { dataFolder, useWatchdog })
      await server.wait('log')
      await sleep(moment(round, 600))
      await server.kill()
      if (!useWatchdog) t.equal(await nothingLeft(dataFolder), true, `round ${round}`)
    }
    const server = await start(t, dataFolder)
    t.same(await query(server.connection, 'SELECT 1 AS one'), [{ one: 1 }])
    t.same(await processesIn(cluster(dataFolder, 'data.new')), [])
  })
}

/** Resolves when the server has acknowledged some. */
async function commits(server: ServerProcess): Promise<void> {
  await server.wait('committed')
  await until(() => server.told.filter(told => 'committed' in told).length >= 10)
}

async function allThere(t: Test, dataFolder: string, committed: number[]): Promise<void> {
  t.comment(`${committed.length} commits were acknowledged`)
  const server = await start(t, dataFolder)
  const rows = await query(server.connection, 'SELECT id FROM written')
  const found = new Set(rows.map(row => Number(row.id)))
  t.same(
    committed.filter(id => !found.has(id)),
    [],
    'none is lost',
  )
}

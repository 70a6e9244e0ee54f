/** The next start recovers from a kill -9 at any moment. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { processesIn, recordedPostmaster } from '../../../src/db/embedded/processes.ts'
import { atNight, extent } from '../../support/extent.ts'
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

/** Returns milliseconds that differ for each round and are the same in every run. */
function moment(round: number, most: number): number {
  return Math.round(((round * 0.618_034) % 1) * most)
}

export function crashTests(t: Test, useWatchdog: boolean): void {
  // By day, each case runs once: one with the watchdog, and one without it.
  const test = (name: string, isOfDay: boolean, run: (t: Test) => Promise<void>) =>
    isOfDay ? t.test(name, run) : atNight(t, name, run)
  test('a kill during writes keeps committed rows and leaves no process or socket', !useWatchdog, async t => {
    const dataFolder = await preparedFolder(t)
    const committed: number[] = []
    for (let round = 1; round <= extent({ gate: 1, nightly: 4 }); round++) {
      const server = serverProcess(t, { dataFolder, useWatchdog, write: true, settings: {} })
      await commits(server)
      await sleep(moment(round, 150))
      await server.kill()
      committed.push(...server.messages.flatMap(message => ('committed' in message ? [message.committed] : [])))
      // In every second round, the next start meets the old server while it is still stopping.
      if (round % 2 === 1) t.equal(await nothingLeft(dataFolder), true, `round ${round}`)
    }
    await keepsAll(t, dataFolder, committed)
  })

  test('a kill together with the postmaster keeps committed rows', useWatchdog, async t => {
    const dataFolder = await preparedFolder(t)
    const committed: number[] = []
    for (let round = 1; round <= extent({ gate: 1, nightly: 2 }); round++) {
      const server = serverProcess(t, { dataFolder, useWatchdog, write: true, settings: {} })
      await commits(server)
      await sleep(moment(round, 150))
      process.kill((await recordedPostmaster(cluster(dataFolder))) ?? Number.NaN, 'SIGKILL')
      await server.kill()
      committed.push(...server.messages.flatMap(message => ('committed' in message ? [message.committed] : [])))
    }
    await keepsAll(t, dataFolder, committed)
  })

  test('a kill at any moment of the first start can be repaired by the next start', false, async t => {
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

/** Resolves when the server has acknowledged ten commits. */
async function commits(server: ServerProcess): Promise<void> {
  await server.wait('committed')
  await until(() => server.messages.filter(message => 'committed' in message).length >= 10)
}

async function keepsAll(t: Test, dataFolder: string, committed: number[]): Promise<void> {
  t.comment(`${committed.length} commits were acknowledged`)
  const server = await start(t, dataFolder)
  const rows = await query(server.connection, 'SELECT id FROM written')
  const found = new Set(rows.map(row => Number(row.id)))
  t.same(
    committed.filter(id => !found.has(id)),
    [],
    'no commit is lost',
  )
}

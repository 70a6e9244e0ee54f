import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytes } from '../test/support/process-tree.ts'
import type { Part } from './part.ts'
import { startBare, startStowage, temporaryFolder } from './processes.ts'
import { interleave } from './rounds.ts'

/** Milliseconds after which a server has closed the connections of its start. */
const idleTime = 15_000

export const start: Part = {
  title: 'Start',
  about: `The time from the start of the process to its first response, which is that of \`/readyz\` for Stowage. A cold start has an
empty data folder and creates the database; a warm start has an existing one. The memory is that of the server and its PostgreSQL
(PSS of all processes) after ${idleTime / 1000} seconds.`,
  async measure({ rounds }) {
    await using folder = await temporaryFolder()
    const figures = await interleave(rounds, {
      'bare Node': () => timed(() => startBare(folder.path)),
      cold: async () => {
        await rm(join(folder.path, 'cold'), { recursive: true, force: true })
        return timed(() => startStowage(join(folder.path, 'cold')))
      },
      // The first start creates the folder. Its round only warms up.
      warm: () => timed(() => startStowage(join(folder.path, 'warm'))),
    })
    const memory: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      await using stowage = await startStowage(join(folder.path, 'warm'))
      await sleep(idleTime)
      memory.push((await residentBytes(stowage.pid)) / 1e6)
    }
    return [
      { what: 'bare Node', figures: figures['bare Node'], unit: 's' },
      { what: 'Stowage, cold', figures: figures.cold, unit: 's' },
      { what: 'Stowage, warm', figures: figures.warm, unit: 's' },
      { what: 'Stowage, idle memory', figures: memory, unit: 'MB' },
    ]
  },
}

/** Measures a start in seconds and stops the server again. */
async function timed(begin: () => Promise<AsyncDisposable>): Promise<number> {
  const from = performance.now()
  await using _started = await begin()
  return (performance.now() - from) / 1000
}

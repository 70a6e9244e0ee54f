/** Cleans up after a killed owner, so that PostgreSQL can start. Call this only with the owner lock. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedPostgresError } from './errors.ts'
import { processesIn, recordedPostmaster, signalIfAlive, waitForEnd } from './processes.ts'
import type { Log } from './programs.ts'

/**
 * The timeout for a postmaster's last checkpoint. After it the postmaster is killed, and the next start replays the
 * log.
 */
const FAST_MS = 20_000
/** The time from SIGQUIT to SIGKILL, and from SIGKILL to the error. */
const QUIT_MS = 5_000

export async function recoverCluster(folder: string, log: Log, signal: AbortSignal) {
  const recorded = await recordedPostmaster(folder)
  const alive = await processesIn(folder)
  if (alive.length > 0) {
    const postmaster = alive.find(pid => pid === recorded)
    log('ending the database processes that a killed server left', { postmaster, processes: alive.length })
    await endAll(folder, postmaster, signal)
  }
  await removeLockFiles(folder)
}

/** Stops the postmaster, which stops its backends, or else each orphaned backend. */
async function endAll(folder: string, postmaster: number | undefined, signal: AbortSignal) {
  if (postmaster !== undefined) {
    signalIfAlive(postmaster, 'SIGINT')
    if (await waitForEnd(folder, FAST_MS, signal)) return
  }
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGQUIT')
  if (await waitForEnd(folder, QUIT_MS, signal)) return
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGKILL')
  if (await waitForEnd(folder, QUIT_MS, signal)) return
  throw new EmbeddedPostgresError(
    `Processes ${(await processesIn(folder)).join(', ')} still use the database in ${folder} and do not end: end them, or restart the machine.`,
  )
}

/** No process uses the cluster now, so a process with the recorded id is unrelated, or a zombie. */
async function removeLockFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name === 'postmaster.pid' || name.startsWith('.s.PGSQL.')) await rm(join(folder, name), { force: true })
  }
}

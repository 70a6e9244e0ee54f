/** Clears what a killed owner left, so that PostgreSQL starts. Call it only while holding the owner lock. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedPostgresError } from './errors.ts'
import { allGone, processesIn, recordedPostmaster, signalIfAlive } from './processes.ts'
import type { Log } from './programs.ts'

/** For a postmaster's last checkpoint; past it the log is replayed instead. */
const FAST_MS = 20_000
/** From SIGQUIT to SIGKILL, and from there to giving up. */
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

/** A postmaster ends its backends; backends without one are ended one by one. */
async function endAll(folder: string, postmaster: number | undefined, signal: AbortSignal) {
  if (postmaster !== undefined) {
    signalIfAlive(postmaster, 'SIGINT')
    if (await allGone(folder, FAST_MS, signal)) return
  }
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGQUIT')
  if (await allGone(folder, QUIT_MS, signal)) return
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGKILL')
  if (await allGone(folder, QUIT_MS, signal)) return
  throw new EmbeddedPostgresError(
    `Processes ${(await processesIn(folder)).join(', ')} still use the database in ${folder} and do not end: end them, or restart the machine.`,
  )
}

/** Nobody lives on the cluster, so whoever has the recorded id now is a stranger, or a zombie. */
async function removeLockFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name === 'postmaster.pid' || name.startsWith('.s.PGSQL.')) await rm(join(folder, name), { force: true })
  }
}

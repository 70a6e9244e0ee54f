/** Clears what a killed owner left, so that PostgreSQL starts. Call it only while holding the owner lock. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EmbeddedPostgresError } from './errors.ts'
import { processesIn, recordedPostmaster, signalIfAlive } from './processes.ts'
import type { Log } from './programs.ts'

export interface Patience {
  /** Milliseconds for a postmaster's last checkpoint; past it the log is replayed instead. */
  fast: number
  /** Milliseconds from SIGQUIT to SIGKILL. */
  quit: number
}

const PATIENCE: Patience = { fast: 20_000, quit: 5_000 }
const POLL_MS = 10

export async function recoverCluster(folder: string, log: Log, signal: AbortSignal, patience = PATIENCE) {
  const recorded = await recordedPostmaster(folder)
  const alive = await processesIn(folder)
  if (alive.length > 0) {
    const postmaster = alive.find(pid => pid === recorded)
    log('ending the database processes that a killed server left', { postmaster, processes: alive.length })
    await endAll(folder, postmaster, patience, signal)
  }
  await removeLockFiles(folder)
}

/** A postmaster ends its backends; backends without one are ended one by one. */
async function endAll(folder: string, postmaster: number | undefined, patience: Patience, signal: AbortSignal) {
  if (postmaster !== undefined) {
    signalIfAlive(postmaster, 'SIGINT')
    if (await allGone(folder, patience.fast, signal)) return
  }
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGQUIT')
  if (await allGone(folder, patience.quit, signal)) return
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGKILL')
  if (await allGone(folder, patience.quit, signal)) return
  throw new EmbeddedPostgresError(
    `Processes ${(await processesIn(folder)).join(', ')} still use the database in ${folder} and do not end: end them, or restart the machine.`,
  )
}

async function allGone(folder: string, milliseconds: number, signal: AbortSignal): Promise<boolean> {
  const end = performance.now() + milliseconds
  while ((await processesIn(folder)).length > 0) {
    if (performance.now() > end) return false
    await sleep(POLL_MS, undefined, { signal })
  }
  return true
}

/** Nobody lives on the cluster, so whoever has the recorded id now is a stranger, or a zombie. */
async function removeLockFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name === 'postmaster.pid' || name.startsWith('.s.PGSQL.')) await rm(join(folder, name), { force: true })
  }
}

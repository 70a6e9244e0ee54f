/** Starts a postmaster on a cluster, waits until it is ready, and stops it. */
import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '../../lib/timeout.ts'
import { PORT } from './connection.ts'
import { EmbeddedPostgresError } from './layout.ts'
import { type Host, listen, program, spawnSupervised } from './programs.ts'

export interface Postmaster {
  pid: number
  /** Resolves with the last error message when the process ends, for whatever reason. */
  exited: Promise<string>
  /** Requests the fast shutdown (SIGINT) and after 8 s the immediate one (SIGQUIT), after which the next start replays the log. */
  stop(): Promise<void>
}

const FAST_MS = 8_000
const IMMEDIATE_MS = 6_000
const READY_POLL_MS = 4
/** The timeout of a start, which has to replay the log of a killed server. */
const READY_MS = 600_000

const SETTINGS: Record<string, string> = {
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  // Parallel workers pass rows through /dev/shm, of which a container has 64 MB; our queries are small.
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  // PostgreSQL logs no failed statements: their texts and details contain people's data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_line_prefix: '',
  log_destination: 'stderr',
  logging_collector: 'off',
}

export async function launch(host: Host, folder: string): Promise<Postmaster> {
  const args = Object.entries({ ...SETTINGS, ...host.settings, port: String(PORT) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const child = await spawnSupervised(program(host, 'postgres', folder, args), host.useWatchdog)
  const { lastError } = listen(child, host.log)
  const exited = new Promise<string>(resolve => child.once('close', () => resolve(lastError())))
  const postmaster = { pid: child.pid ?? 0, exited, stop: () => stop(child, exited) }
  try {
    await ready(postmaster, folder, host.signal)
  } catch (error) {
    await postmaster.stop()
    throw error
  }
  return postmaster
}

/** Waits for `ready` in the eighth line of `postmaster.pid`, which costs less than a connection. */
async function ready(postmaster: Postmaster, folder: string, signal: AbortSignal): Promise<void> {
  let last: string | undefined
  void postmaster.exited.then(said => {
    last = said
  })
  const end = performance.now() + READY_MS
  for (;;) {
    if (last !== undefined) {
      throw new EmbeddedPostgresError(
        `PostgreSQL could not start on ${folder} (${last}): correct that and start again, or set DATABASE_URL to a PostgreSQL server.`,
      )
    }
    const lines = (await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (Number(lines[0]) === postmaster.pid && lines[7]?.trim() === 'ready') return
    if (performance.now() > end) {
      throw new EmbeddedPostgresError(
        `PostgreSQL was not ready on ${folder} after ${READY_MS / 60_000} minutes: look at its messages in the log, then start again.`,
      )
    }
    await sleep(READY_POLL_MS, undefined, { signal })
  }
}

async function stop(child: ChildProcess, exited: Promise<string>): Promise<void> {
  for (const [signal, milliseconds] of [
    ['SIGINT', FAST_MS],
    ['SIGQUIT', IMMEDIATE_MS],
  ] as const) {
    child.kill(signal)
    const late = () => new EmbeddedPostgresError(`PostgreSQL has not ended after ${signal}.`)
    const hasExited = await withTimeout(exited, milliseconds, late).then(
      () => true,
      () => false,
    )
    if (hasExited) return
  }
  child.kill('SIGKILL')
  await exited
}

/**
 * Builds the command lines of `initdb` and `postgres`, reads their messages, and starts them so that they cannot outlive this
 * process. However this process ends, the program gets SIGINT, the fast shutdown of PostgreSQL. The program has its own session,
 * so Ctrl-C in a terminal reaches only this process, which drains first.
 *
 * On Linux the kernel sends the signal (prctl(2), PR_SET_PDEATHSIG, set with util-linux's setpriv). Without setpriv, a
 * watchdog does: a shell that reads from a pipe, which closes when this process dies.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { withTimeout } from '../../lib/timeout.ts'
import type { Binaries } from './binaries.ts'
import { PORT } from './connection.ts'
import { EmbeddedPostgresError, type Layout, type RunUser } from './layout.ts'

export type Log = (message: string, details?: object) => void

/** The context of every step. */
export interface Host {
  layout: Layout
  binaries: Binaries
  user: RunUser | undefined
  /** Settings for `postgres`, with the names of postgresql.conf. */
  settings: Record<string, string>
  log: Log
  signal: AbortSignal
  /** True only in tests, which simulate a Linux without setpriv. */
  useWatchdog: boolean
}

/**
 * Leads to the data folder for any process started in it, even if its user cannot enter the folders above, such as /root.
 * (From PostgreSQL 16 on. Older versions change their directory to resolve their own path, and cannot return.)
 */
const HERE = '/proc/self/cwd'

const LIBRARY_PATH = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'

/** @param folder a cluster; must lie directly in `Layout.root` */
export function program(host: Host, name: 'initdb' | 'postgres', folder: string, args: string[]): Program {
  const { binaries, layout, user } = host
  const here = seenByServer(host, folder)
  const env: Record<string, string> = { PATH: SYSTEM_PATH, LC_ALL: 'C', TZ: 'UTC' }
  if (binaries.libraries !== undefined) {
    const links =
      user === undefined ? join(layout.libraries, binaries.libraries) : `${here}/../lib/${binaries.libraries}`
    // A library found through a link looks for its own dependencies beside the link.
    env[LIBRARY_PATH] = `${links}:${join(binaries.bin, '../lib')}`
  }
  return { file: join(binaries.bin, name), args: ['-D', here, ...args], cwd: folder, env, user }
}

/** Returns the path by which a server opens its own cluster folder. */
function seenByServer(host: Host, folder: string): string {
  return host.user !== undefined && process.platform === 'linux' ? HERE : folder
}

const LAST_LINES = 20
const LONGEST_LINE = 2_000

/** Logs each line of standard error. `lastError` returns the most severe of the last lines. */
export function listen(child: ChildProcess, log: Log): { lastError: () => string } {
  const last: string[] = []
  if (child.stderr !== null) {
    createInterface({ input: child.stderr, crlfDelay: Number.POSITIVE_INFINITY }).on('line', printed => {
      const line = printed.slice(0, LONGEST_LINE)
      last.push(line)
      if (last.length > LAST_LINES) last.shift()
      log('postgres', { line })
    })
  }
  return { lastError: () => mostSevere(last) }
}

function mostSevere(lines: string[]): string {
  const line = lines.findLast(text => /FATAL|PANIC|error:/.test(text)) ?? lines.at(-1) ?? 'it said nothing'
  return line.replace(/^.*?(?:FATAL|PANIC|error): */, '').replace(/\.$/, '')
}

export interface Program {
  file: string
  args: string[]
  cwd: string
  env: Record<string, string>
  user: RunUser | undefined
}

/** The PATH for setpriv and initdb. PostgreSQL does not inherit the environment of this process. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Ends the shell if the parent died before setpriv requested the signal: then it has another parent. */
const IF_PARENT_LIVES = '[ "$PPID" = "$0" ] && exec "$@"'
/** Delays the program until the watchdog knows its process id. */
const AFTER_WATCHDOG = 'read -r go && exec "$@" </dev/null'
const WATCHDOG = 'read -r pid && { read -r over || kill -INT "$pid"; }'

const run = promisify(execFile)

/** Starts the program with standard error as a pipe, without standard input and output. */
export async function spawnSupervised(program: Program, useWatchdog = false): Promise<ChildProcess> {
  if (useWatchdog || !(await hasDeathSignal())) return spawnWithWatchdog(program)
  const args = ['--pdeathsig', 'INT', 'sh', '-c', IF_PARENT_LIVES, String(process.pid), program.file, ...program.args]
  return started(spawn('setpriv', args, { ...base(program), stdio: ['ignore', 'ignore', 'pipe'] }))
}

async function spawnWithWatchdog(program: Program): Promise<ChildProcess> {
  const watchdog = await started(
    spawn('sh', ['-c', WATCHDOG], { ...base(program), stdio: ['pipe', 'ignore', 'ignore'] }),
  )
  const args = ['-c', AFTER_WATCHDOG, 'sh', program.file, ...program.args]
  const child = await started(spawn('sh', args, { ...base(program), stdio: ['pipe', 'ignore', 'pipe'] }))
  // A write fails only with EPIPE, after the reader has ended, which its `exit` event reports.
  watchdog.stdin?.on('error', () => undefined)
  child.stdin?.on('error', () => undefined)
  child.once('exit', () => watchdog.stdin?.end('over\n'))
  watchdog.stdin?.write(`${child.pid}\n`, () => child.stdin?.end('go\n'))
  return child
}

function base(program: Program): SpawnOptions {
  const { cwd, env, user } = program
  return { cwd, env, detached: true, ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }) }
}

async function started(child: ChildProcess): Promise<ChildProcess> {
  await once(child, 'spawn')
  return child
}

async function hasDeathSignal(): Promise<boolean> {
  if (process.platform !== 'linux') return false
  return run('setpriv', ['--pdeathsig', 'INT', 'true'], { env: { PATH: SYSTEM_PATH } }).then(
    () => true,
    () => false,
  )
}

// Starts a postmaster on a cluster, waits until it is ready, and stops it.

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

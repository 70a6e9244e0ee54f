/**
 * Starts a program that cannot outlive this process. However this process ends, the program gets SIGINT, the fast shutdown of
 * PostgreSQL. The program has its own session, so Ctrl-C in a terminal reaches only this process, which drains first.
 *
 * On Linux the kernel sends the signal (prctl(2), PR_SET_PDEATHSIG, set with util-linux's setpriv). Without setpriv, a
 * watchdog does: a shell that reads from a pipe, which closes when this process dies.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import type { RunUser } from './user.ts'

export interface Program {
  file: string
  args: string[]
  cwd: string
  env: Record<string, string>
  user: RunUser | undefined
}

/** The PATH for setpriv and initdb. PostgreSQL does not inherit the environment of this process. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

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

/**
 * Starts a program that cannot outlive this process, however this process ends: the program then gets SIGINT, which for
 * PostgreSQL is the fast shutdown. It runs in a session of its own, so Ctrl-C in a terminal reaches only us, who drain first.
 *
 * Linux delivers the signal itself (prctl(2), PR_SET_PDEATHSIG, by way of util-linux's setpriv). Where there is no such
 * setpriv, a shell waits on a pipe that closes when we die.
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

/** Where setpriv and the tools of initdb are found; the person's own environment is kept away from PostgreSQL. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The parent may die before setpriv has asked for the signal: then the shell finds another parent, and ends. */
const IF_STILL_OURS = '[ "$PPID" = "$0" ] && exec "$@"'
/** Runs the program only when told to, so never before the watchdog knows whom to stop. */
const WHEN_TOLD = 'read -r go && exec "$@" </dev/null'
const WATCHDOG = 'read -r pid && { read -r over || kill -INT "$pid"; }'

const run = promisify(execFile)

/** Standard error is a pipe; standard input and output are not connected. */
export async function spawnSupervised(program: Program, useWatchdog = false): Promise<ChildProcess> {
  if (useWatchdog || !(await hasDeathSignal())) return spawnWithWatchdog(program)
  const args = ['--pdeathsig', 'INT', 'sh', '-c', IF_STILL_OURS, String(process.pid), program.file, ...program.args]
  return started(spawn('setpriv', args, { ...base(program), stdio: ['ignore', 'ignore', 'pipe'] }))
}

async function spawnWithWatchdog(program: Program): Promise<ChildProcess> {
  const watchdog = await started(
    spawn('sh', ['-c', WATCHDOG], { ...base(program), stdio: ['pipe', 'ignore', 'ignore'] }),
  )
  const args = ['-c', WHEN_TOLD, 'sh', program.file, ...program.args]
  const child = await started(spawn('sh', args, { ...base(program), stdio: ['pipe', 'ignore', 'pipe'] }))
  // A write can only fail with EPIPE, when the reader has ended: its `exit` tells that.
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

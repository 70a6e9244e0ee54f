/** Which PostgreSQL processes live on a cluster. A process id in a file proves nothing: ids are reused. */
import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isErrno } from './errors.ts'

const run = promisify(execFile)
const POLL_MS = 10
const NAMES = ['postgres', 'initdb']

/**
 * On Linux: every process called `postgres` or `initdb` whose working directory is `folder`, told by device and inode, so
 * that neither a zombie, nor a reused id, nor somebody's shell in that folder is taken for one.
 *
 * Elsewhere only the postmaster can be told, by the `-D <folder>` on its command line; left-over backends then make
 * PostgreSQL itself refuse the start.
 *
 * @returns process ids; empty when `folder` is not there
 */
export async function processesIn(folder: string): Promise<number[]> {
  if (process.platform !== 'linux') return postmasterByCommandLine(folder)
  const wanted = await identity(folder)
  if (wanted === undefined) return []
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || (await identity(`/proc/${name}/cwd`)) !== wanted) continue
    const command = await readFile(`/proc/${name}/comm`, 'utf8').catch(() => '')
    if (NAMES.includes(command.trim())) found.push(Number(name))
  }
  return found
}

/** Whether no process is left in `folder` before the time is over. */
export async function allGone(folder: string, milliseconds: number, signal: AbortSignal): Promise<boolean> {
  const end = performance.now() + milliseconds
  while ((await processesIn(folder)).length > 0) {
    if (performance.now() > end) return false
    await sleep(POLL_MS, undefined, { signal })
  }
  return true
}

/** The process id in `postmaster.pid`; undefined when there is no such file. */
export async function recordedPostmaster(folder: string): Promise<number | undefined> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Math.abs(Number.parseInt(text, 10))
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error
  }
}

/** Undefined for what is gone, a zombie, or another user's. */
async function identity(path: string): Promise<string | undefined> {
  return stat(path).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  )
}

async function postmasterByCommandLine(folder: string): Promise<number[]> {
  const pid = await recordedPostmaster(folder)
  if (pid === undefined || Number.isNaN(pid)) return []
  const args = await run('ps', ['-ww', '-o', 'args=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  )
  return args.includes('postgres') && args.includes(` -D ${folder} `) ? [pid] : []
}

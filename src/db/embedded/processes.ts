/** Finds the PostgreSQL processes of a cluster. A process id in a file is no proof, because ids are reused. */
import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isErrno } from './layout.ts'

const run = promisify(execFile)
const POLL_MS = 10
const NAMES = ['postgres', 'initdb']

/**
 * On Linux, returns every process named `postgres` or `initdb` whose working directory has the device and inode of `folder`.
 * This excludes zombies, reused ids, and other programs that run in the folder.
 *
 * On other systems, returns only the postmaster, recognized by `-D <folder>` on its command line. If orphaned backends remain
 * there, PostgreSQL itself refuses to start.
 *
 * @returns process ids; none if `folder` is missing
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

/** Waits for all processes of `folder` to end. Returns false after the timeout. */
export async function waitForEnd(folder: string, milliseconds: number, signal: AbortSignal): Promise<boolean> {
  const end = performance.now() + milliseconds
  while ((await processesIn(folder)).length > 0) {
    if (performance.now() > end) return false
    await sleep(POLL_MS, undefined, { signal })
  }
  return true
}

/** Returns the process id in `postmaster.pid`, or undefined if the file is missing. */
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

/** Returns undefined for a missing path, a zombie, or a process of another user. */
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

/**
 * Servers that one test run shares.
 *
 * The first test file of a run that asks starts a detached host, which serves the whole run and ends by itself when the
 * run's process is gone, however it went. Under tap that process is the runner; a file that is run by itself is its own run.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface RunServer {
  /** Of the folder names of its runs; none begins with another's. */
  prefix: string
  /** For people: "test database". */
  what: string
  /** The script that calls `serveRun`. */
  host: URL
  /** Milliseconds until a first start counts as failed. */
  patience: number
  /** Variables that the host needs, beside PATH. */
  environment: readonly string[]
}

const POLL_MS = 15
const HOST_POLL_MS = 200
/** proc_pid_stat(5): field 22, counted from the one after the state. */
const START_TIME = 18
const RECORD = 'server.json'

/** What the host published; starts it where nobody has. */
export async function serverOfThisRun<Server extends object>(server: RunServer): Promise<Server> {
  const run = await identityOf(process.env.TAP_CHILD_KEY === undefined ? process.pid : process.ppid)
  if (run === undefined) throw new Error('The test runner is gone.')
  const folder = join(runsFolder(), `${server.prefix}${run}`)
  if (await isFirst(folder)) await startHost(server, folder, run)
  for (const end = performance.now() + server.patience; performance.now() < end; await sleep(POLL_MS)) {
    const text = await readFile(join(folder, RECORD), 'utf8').catch(() => undefined)
    if (text === undefined) continue
    const record = JSON.parse(text) as Server | { error: string }
    if ('error' in record) throw new Error(`The ${server.what} could not be made: ${record.error}`)
    return record
  }
  const log = await readFile(join(folder, 'host.log'), 'utf8').catch(() => '')
  throw new Error(`The ${server.what} was not ready after ${server.patience} ms. Its host said: ${log.slice(-2_000)}`)
}

/**
 * The host's whole life: publishes what `start` resolves with, or why it failed, until the run is over.
 *
 * @param options.isBusy whether something still uses the folder of a run that is gone
 */
export async function serveRun<Server extends object>(
  prefix: string,
  start: (folder: string) => Promise<{ record: Server; stop: () => Promise<void> }>,
  options: { isBusy?: (folder: string) => Promise<boolean> } = {},
): Promise<void> {
  const [, , folder, run] = process.argv
  if (folder === undefined || run === undefined) throw new Error('A folder and the identity of a run are expected.')
  try {
    await sweep(prefix, options.isBusy)
    const { record, stop } = await start(folder)
    try {
      await publish(folder, record)
      while (await isAlive(run)) await sleep(HOST_POLL_MS)
    } finally {
      await stop()
    }
  } catch (error) {
    process.exitCode = 1
    await publish(folder, { error: error instanceof Error ? error.message : String(error) })
    while (await isAlive(run)) await sleep(HOST_POLL_MS)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Folders of runs lie here: in memory where there is a tmpfs. */
export function runsFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}

/** Tells a process from a later one with the same id, where that can be done; undefined for one that is gone, or a zombie. */
export async function identityOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === '' || state === 'Z' || state === 'X' ? undefined : `${pid}-${fields[START_TIME]}`
  }
  try {
    process.kill(pid, 0)
    return `${pid}-0`
  } catch {
    return undefined
  }
}

async function isAlive(run: string): Promise<boolean> {
  return (await identityOf(Number.parseInt(run, 10))) === run
}

/** Folders that a killed host left. */
async function sweep(prefix: string, isBusy?: (folder: string) => Promise<boolean>): Promise<void> {
  const runs = runsFolder()
  for (const name of await readdir(runs)) {
    if (!name.startsWith(prefix) || (await isAlive(name.slice(prefix.length)))) continue
    const folder = join(runs, name)
    const busy = (await isBusy?.(folder)) ?? false
    if (!busy) await rm(folder, { recursive: true, force: true }).catch(() => undefined) // another user's
  }
}

async function isFirst(folder: string): Promise<boolean> {
  return mkdir(folder, { mode: 0o700 }).then(
    () => true,
    error => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
}

async function startHost({ host, environment }: RunServer, folder: string, run: string): Promise<void> {
  const log = await open(join(folder, 'host.log'), 'a')
  const env = Object.fromEntries(['PATH', ...environment].map(name => [name, process.env[name]]))
  spawn(process.execPath, [fileURLToPath(host), folder, run], {
    detached: true,
    env,
    stdio: ['ignore', log.fd, log.fd],
  }).unref()
  await log.close()
}

async function publish(folder: string, record: object): Promise<void> {
  const partial = join(folder, `${RECORD}.new`)
  await writeFile(partial, JSON.stringify(record), { mode: 0o600 })
  await rename(partial, join(folder, RECORD))
}

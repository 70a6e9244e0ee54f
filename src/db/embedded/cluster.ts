/** Creates a cluster. It gets its name last, so a kill never leaves a `data` folder that cannot start. */
import { once } from 'node:events'
import { chown, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { SUPERUSER } from './connection.ts'
import { EmbeddedPostgresError, isErrno } from './layout.ts'
import { processesIn, signalIfAlive, waitForEnd } from './processes.ts'
import { type Host, listen, program, spawnSupervised } from './programs.ts'

/** The first major version with the built-in locale provider, which does not depend on the system's C library. */
const BUILTIN_LOCALES = 17
/** The first major version that can sync a whole file system, which is one call instead of one for each of its 1,000 files. */
const SYNC_OF_FILE_SYSTEM = 17
const ORPHANS_MS = 5_000

/** Returns undefined if `folder` is missing. */
export async function clusterVersion(folder: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(folder, 'PG_VERSION'), 'utf8'), 10)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Runs initdb in `Layout.fresh`; the caller renames it. */
export async function initialiseFresh(host: Host): Promise<void> {
  const { layout, user, log, signal } = host
  if (user === undefined) assertNamed()
  await discardFresh(host)
  await mkdir(layout.fresh, { mode: 0o700 })
  if (user !== undefined) await chown(layout.fresh, user.uid, user.gid)
  log('creating the database', { folder: layout.data })
  const locale =
    host.binaries.major >= BUILTIN_LOCALES ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C']
  const args = [
    ...locale,
    '--data-checksums',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '-U',
    SUPERUSER,
    '--no-instructions',
    '--no-clean',
  ]
  if (host.settings.fsync === 'off') args.push('--no-sync')
  // syncfs(2) reports errors since Linux 5.8. Other systems do not have it.
  else if (host.binaries.major >= SYNC_OF_FILE_SYSTEM && process.platform === 'linux') args.push('--sync-method=syncfs')
  const child = await spawnSupervised(program(host, 'initdb', layout.fresh, args), host.useWatchdog)
  const { lastError } = listen(child, log)
  const abort = () => child.kill('SIGINT')
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  const [status] = await once(child, 'close')
  signal.removeEventListener('abort', abort)
  if (status === 0 && !signal.aborted) return
  await rm(layout.fresh, { recursive: true, force: true })
  signal.throwIfAborted()
  throw new EmbeddedPostgresError(
    `PostgreSQL could not create a database in ${layout.root} (${lastError()}): correct that and start again, or set DATABASE_URL to a PostgreSQL server.`,
  )
}

export async function createCluster(host: Host): Promise<void> {
  const { fresh, data, root } = host.layout
  await initialiseFresh(host)
  try {
    await renameDurably(fresh, data, root)
  } catch (error) {
    if (!isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw error
    throw new EmbeddedPostgresError(`${data} exists and contains no database: move it away, and start again.`, {
      cause: error,
    })
  }
}

/**
 * Deletes the incomplete cluster of a killed start. Its processes end by themselves, and only then release their shared memory,
 * so they are killed only after a timeout.
 */
export async function discardFresh({ layout, signal }: Host): Promise<void> {
  if (!(await waitForEnd(layout.fresh, ORPHANS_MS, signal))) {
    for (const pid of await processesIn(layout.fresh)) signalIfAlive(pid, 'SIGKILL')
  }
  await rm(layout.fresh, { recursive: true, force: true, maxRetries: 5 })
}

export async function renameDurably(from: string, to: string, parent: string): Promise<void> {
  await rename(from, to)
  const folder = await open(parent)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function assertNamed() {
  try {
    userInfo()
  } catch (error) {
    throw new EmbeddedPostgresError(
      `PostgreSQL needs a name for user id ${process.getuid?.()}: add it to /etc/passwd, start Stowage as another user, or set DATABASE_URL.`,
      { cause: error },
    )
  }
}

/**
 * The embedded PostgreSQL: a real server as a child process, on a unix socket in the data folder, that cannot outlive
 * this process.
 *
 * To restore a backup: stop Stowage, move `<data>/postgres/data` away, put a copy of the backup in its place (`cp -r`),
 * and start Stowage. The start corrects the owner and the modes.
 */
import { randomUUID } from 'node:crypto'
import { chown, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { findBinaries } from './binaries.ts'
import { clusterVersion, createCluster, discardFresh } from './cluster.ts'
import { type Address, addressOf, type ClusterConnection, connectClient, ensureDatabase } from './connection.ts'
import {
  chooseRunUser,
  claimCluster,
  EmbeddedPostgresError,
  isErrno,
  type Layout,
  makeLayout,
  permitEntry,
} from './layout.ts'
import { processesIn, recordedPostmaster, signalIfAlive, waitForEnd } from './processes.ts'
import { type Host, type Log, launch, type Postmaster } from './programs.ts'
import { finishUpgrade, type Migrate, upgradeCluster } from './upgrade.ts'

/**
 * The timeout for a postmaster's last checkpoint. After it the postmaster is killed, and the next start replays the
 * log.
 */
const FAST_MS = 20_000
/** The time from SIGQUIT to SIGKILL, and from SIGKILL to the error. */
const QUIT_MS = 5_000

/** Cleans up after a killed owner, so that PostgreSQL can start. Call this only with the owner lock. */
async function recoverCluster(folder: string, log: Log, signal: AbortSignal) {
  const recorded = await recordedPostmaster(folder)
  const alive = await processesIn(folder)
  if (alive.length > 0) {
    const postmaster = alive.find(pid => pid === recorded)
    log('ending the database processes that a killed server left', { postmaster, processes: alive.length })
    await endAll(folder, postmaster, signal)
  }
  await removeLockFiles(folder)
}

/** Stops the postmaster, which stops its backends, or else each orphaned backend. */
async function endAll(folder: string, postmaster: number | undefined, signal: AbortSignal) {
  if (postmaster !== undefined) {
    signalIfAlive(postmaster, 'SIGINT')
    if (await waitForEnd(folder, FAST_MS, signal)) return
  }
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGQUIT')
  if (await waitForEnd(folder, QUIT_MS, signal)) return
  for (const pid of await processesIn(folder)) signalIfAlive(pid, 'SIGKILL')
  if (await waitForEnd(folder, QUIT_MS, signal)) return
  throw new EmbeddedPostgresError(
    `Processes ${(await processesIn(folder)).join(', ')} still use the database in ${folder} and do not end: end them, or restart the machine.`,
  )
}

/** No process uses the cluster now, so a process with the recorded id is unrelated, or a zombie. */
async function removeLockFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name === 'postmaster.pid' || name.startsWith('.s.PGSQL.')) await rm(join(folder, name), { force: true })
  }
}

/**
 * The owner lock. Its holder alone may start, repair and stop the database in a data folder.
 *
 * Node has no flock(2). SQLite, which is part of Node, takes a kernel lock on its file with BEGIN EXCLUSIVE. The kernel
 * releases it when the process dies, however it dies, so a lock is never stale and no process id has to be checked. It also
 * works between containers that share a folder.
 *
 * POSIX drops a process's lock when that process closes any descriptor of the file: nothing else here may open it.
 */
interface Lock {
  release(): void
}

const SQLITE_BUSY = 5

/** Returns undefined if another process, or another start in this process, has the lock. */
async function acquireLock({ lock: file, owner }: Layout): Promise<Lock | undefined> {
  let database: DatabaseSync | undefined
  try {
    await createOnce(file, owner)
    database = new DatabaseSync(file)
    database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return undefined
    throw new EmbeddedPostgresError(
      `The lock ${file} cannot be taken (${(error as Error).message}): start Stowage as the user that the folder belongs to, and keep it on a file system that supports locks.`,
      { cause: error },
    )
  }
  const locked = database
  return { release: () => locked.close() }
}

async function createOnce(file: string, owner: Layout['owner']) {
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 })
    await chown(file, owner.uid, owner.gid)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}

export interface EmbeddedPostgresOptions {
  dataFolder: string
  log: Log
  /** Aborts the start. Use `stop` afterwards. */
  signal?: AbortSignal
  /** Settings with the names of postgresql.conf. */
  settings?: Record<string, string>
  /** A folder with other `initdb` and `postgres` programs than the npm package's. */
  binaries?: string
  /**
   * A folder with the programs of an older major version, for an upgrade from a version without an installed package.
   */
  olderBinaries?: string
  /** Creates or updates the tables. Without it, an older cluster is rejected instead of upgraded. */
  migrate?: Migrate
  /** Uses a watchdog even if setpriv is available. */
  useWatchdog?: boolean
}

export interface EmbeddedPostgres {
  /** Connects to the database `stowage` as its owner, the role `stowage`, which is no superuser. */
  connection: ClusterConnection
  /** False if another server process owns the database; `stop` then leaves it running. */
  owner: boolean
  /** Resolves when PostgreSQL has ended. Close your connections first. */
  stop(): Promise<void>
  /** Calls the listener once, with a sentence for the log, if the database ends before `stop`. */
  onExit(listener: (reason: string) => void): void
}

/** The timeout must be longer than a first start on a slow disk. */
const OWNER_TIMEOUT_MS = 60_000
const OWNER_POLL_MS = 25

/** @throws EmbeddedPostgresError, or the signal's reason */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const signal = options.signal ?? new AbortController().signal
  const layout = await makeLayout(options.dataFolder)
  const end = performance.now() + OWNER_TIMEOUT_MS
  for (;;) {
    signal.throwIfAborted()
    const lock = await acquireLock(layout)
    if (lock !== undefined) {
      try {
        return await startOwned(layout, options, signal, lock.release)
      } catch (error) {
        lock.release()
        throw error
      }
    }
    const shared = await joinSharedServer(layout)
    if (shared !== undefined) return useSharedServer(shared)
    if (performance.now() > end) {
      const pid = (await readOwner(layout))?.pid
      throw new EmbeddedPostgresError(
        `The data folder ${options.dataFolder} is in use by another Stowage${pid === undefined ? '' : ` (process ${pid})`} whose database does not respond: stop that one, or choose another data folder.`,
      )
    }
    await sleep(OWNER_POLL_MS, undefined, { signal })
  }
}

async function startOwned(
  layout: Layout,
  options: EmbeddedPostgresOptions,
  signal: AbortSignal,
  release: () => void,
): Promise<EmbeddedPostgres> {
  await withdrawOwner(layout)
  await finishUpgrade(layout)
  const host = await prepareHost(layout, options, signal)
  await prepareCluster(host, options)
  const postmaster = await launch(host, layout.data)
  try {
    return await serve(layout, postmaster, release)
  } catch (error) {
    await postmaster.stop()
    throw error
  }
}

async function prepareHost(layout: Layout, options: EmbeddedPostgresOptions, signal: AbortSignal): Promise<Host> {
  const user = await chooseRunUser(layout.data)
  await permitEntry(layout.root, user)
  const binaries = await findBinaries(layout, user, options.binaries)
  const { log, settings = {}, useWatchdog = false } = options
  return { layout, binaries, user, settings, log, signal, useWatchdog }
}

async function prepareCluster(host: Host, options: EmbeddedPostgresOptions): Promise<void> {
  const { layout, user, binaries, log, signal } = host
  const version = await clusterVersion(layout.data)
  if (version === undefined) return createCluster(host)
  await claimCluster(layout.data, user)
  await recoverCluster(layout.data, log, signal)
  await discardFresh(host)
  if (version !== binaries.major) await upgradeCluster(host, version, options)
}

async function serve(layout: Layout, postmaster: Postmaster, release: () => void): Promise<EmbeddedPostgres> {
  const address = await addressOf(layout.data)
  await ensureDatabase(address.connection)
  await publishOwner(layout)
  let stopping: Promise<void> | undefined
  const stop = async () => {
    await withdrawOwner(layout)
    await postmaster.stop()
    await address.close()
    release()
  }
  const ended = postmaster.exited.then(last => `The embedded PostgreSQL ended unexpectedly (${last}).`)
  return {
    connection: address.connection,
    owner: true,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    onExit: listener => {
      void ended.then(reason => stopping === undefined && listener(reason))
    },
  }
}

function useSharedServer({ address, watch }: SharedServer): EmbeddedPostgres {
  let stopping: Promise<void> | undefined
  const stop = async () => {
    await watch.end()
    await address.close()
  }
  const ended = new Promise<void>(resolve => watch.once('end', () => resolve()))
  return {
    connection: address.connection,
    owner: false,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    onExit: listener => {
      void ended.then(() => stopping === undefined && listener('The Stowage that owns the database ended it.'))
    },
  }
}

interface OwnerRecord {
  /**
   * Differs with every start. It shows whether another owner started between the read of this record and the
   * connection.
   */
  id: string
  pid: number
}

interface SharedServer {
  address: Address
  /** An idle connection, which ends when the owner's database ends. */
  watch: Client
}

async function publishOwner(layout: Layout): Promise<void> {
  const record: OwnerRecord = { id: randomUUID(), pid: process.pid }
  const partial = `${layout.ownerRecord}.new`
  await rm(partial, { force: true })
  await writeFile(partial, JSON.stringify(record), { flag: 'wx', mode: 0o600 })
  await chown(partial, layout.owner.uid, layout.owner.gid)
  await rename(partial, layout.ownerRecord)
}

async function withdrawOwner(layout: Layout): Promise<void> {
  await rm(layout.ownerRecord, { force: true })
}

async function readOwner(layout: Layout): Promise<OwnerRecord | undefined> {
  try {
    return JSON.parse(await readFile(layout.ownerRecord, 'utf8')) as OwnerRecord
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Returns undefined until an owner has a database that is ready. */
async function joinSharedServer(layout: Layout): Promise<SharedServer | undefined> {
  const owner = await readOwner(layout)
  if (owner === undefined) return undefined
  const address = await addressOf(layout.data)
  const watch = await connectClient(address.connection).catch(() => undefined)
  if (watch !== undefined && (await readOwner(layout))?.id === owner.id) return { address, watch }
  await watch?.end()
  await address.close()
  return undefined
}

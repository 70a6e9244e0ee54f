/**
 * Backs up the running database to a folder. To restore it, replace `<data>/postgres/data` with the folder.
 *
 * See PostgreSQL, "Making a Base Backup Using the Low Level API": files are copied while they change. The copy includes
 * the write-ahead log of that time, and the next start replays it to make them consistent.
 */
import { chmod, copyFile, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Client } from 'pg'
import { addressOf, asSuperuser, connectClient } from './connection.ts'
import { EmbeddedPostgresError, isErrno, layoutIn } from './layout.ts'

export interface BackupOptions {
  /** The data folder of a running server, in this process or another. */
  dataFolder: string
  /** A new folder. It appears complete or not at all. */
  destination: string
  signal?: AbortSignal
}

/** Files that the next start recreates or must not find: see "Backing Up The Data Directory". */
const TRANSIENT_FILES = /^(postmaster\.(pid|opts)|pg_internal\.init.*|\.s\.PGSQL\..*|pgsql_tmp.*)$/
const EMPTY_FOLDERS = new Set(
  ['wal', 'dynshmem', 'notify', 'serial', 'snapshots', 'stat_tmp', 'subtrans', 'replslot'].map(name => `pg_${name}`),
)

export async function backupEmbedded(options: BackupOptions): Promise<void> {
  const signal = options.signal ?? new AbortController().signal
  const destination = resolve(options.destination)
  const layout = await layoutIn(options.dataFolder)
  await assertAbsent(destination)
  const partial = `${destination}.partial`
  await rm(partial, { recursive: true, force: true })
  const address = await addressOf(layout.data)
  try {
    await mkdir(partial, { mode: 0o700 })
    const client = await connectClient(asSuperuser(address.connection)).catch(error => {
      throw new EmbeddedPostgresError(
        `No Stowage runs on ${options.dataFolder}: start it to back it up, or copy the whole folder while it is stopped.`,
        { cause: error },
      )
    })
    try {
      await copyCluster(client, layout.data, partial, signal)
    } finally {
      await client.end()
    }
    await rename(partial, destination)
    await syncPath(dirname(destination))
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw error
  } finally {
    await address.close()
  }
}

async function copyCluster(client: Client, data: string, target: string, signal: AbortSignal): Promise<void> {
  // The slot keeps the log until this connection ends.
  await client.query("SELECT pg_create_physical_replication_slot('stowage_backup_' || pg_backend_pid(), true, true)")
  const { rows: start } = await client.query(
    "SELECT pg_walfile_name(lsn) AS segment FROM pg_backup_start('stowage', fast => true) AS lsn",
  )
  await copyFolder(data, target, signal)
  const { rows: stop } = await client.query(
    'SELECT pg_walfile_name(lsn) AS segment, labelfile FROM pg_backup_stop(wait_for_archive => false)',
  )
  for (const segment of await readdir(join(data, 'pg_wal'))) {
    if (!/^[0-9A-F]{24}$/.test(segment) || segment < start[0].segment || segment > stop[0].segment) continue
    await copyDurably(join(data, 'pg_wal', segment), join(target, 'pg_wal', segment))
  }
  await writeFile(join(target, 'backup_label'), stop[0].labelfile, { mode: 0o600, flush: true })
  await syncPath(join(target, 'pg_wal'))
  await syncPath(target)
}

async function copyFolder(from: string, to: string, signal: AbortSignal): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    signal.throwIfAborted()
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (TRANSIENT_FILES.test(entry.name)) continue
    if (entry.isDirectory()) {
      await mkdir(target, { mode: 0o700 })
      if (!EMPTY_FOLDERS.has(entry.name)) await copyFolder(source, target, signal)
    } else if (entry.isFile()) await copyDurably(source, target)
  }
  await syncPath(to)
}

/** Skips a missing file: it was dropped meanwhile, and the replay of the log drops it again. */
async function copyDurably(source: string, target: string): Promise<void> {
  try {
    await copyFile(source, target)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return
    throw error
  }
  await chmod(target, 0o600)
  await syncPath(target)
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function assertAbsent(destination: string): Promise<void> {
  const exists = await readdir(destination).then(
    () => true,
    error => !isErrno(error, 'ENOENT'),
  )
  if (exists) throw new EmbeddedPostgresError(`${destination} already exists: choose a new name for the backup.`)
}

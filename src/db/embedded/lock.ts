/**
 * The owner lock: which server process may start, repair and stop the database in a data folder.
 *
 * Node has no flock(2). SQLite, which is part of Node, takes a kernel lock on its file with BEGIN EXCLUSIVE: the kernel
 * gives it to one process at a time and takes it back at the very moment that process dies, however it dies. So no lock
 * can be stale, no process id has to be judged, and it also holds between containers that share a folder.
 *
 * POSIX drops a process's lock when that process closes any descriptor of the file: nothing else here may open it.
 */
import { chown, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { EmbeddedPostgresError, isErrno } from './errors.ts'
import type { Layout } from './layout.ts'

export interface Lock {
  release(): void
}

const SQLITE_BUSY = 5

/** Returns undefined when another process, or another start in this process, holds it. */
export async function acquireLock({ lock: file, owner }: Layout): Promise<Lock | undefined> {
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
  const held = database
  return { release: () => held.close() }
}

async function createOnce(file: string, owner: Layout['owner']) {
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 })
    await chown(file, owner.uid, owner.gid)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}

/**
 * The owner lock. Its holder alone may start, repair and stop the database in a data folder.
 *
 * Node has no flock(2). SQLite, which is part of Node, takes a kernel lock on its file with BEGIN EXCLUSIVE. The kernel
 * releases it when the process dies, however it dies, so a lock is never stale and no process id has to be checked. It also
 * works between containers that share a folder.
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

/** Returns undefined if another process, or another start in this process, has the lock. */
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

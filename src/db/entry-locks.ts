/** Locks that clients put on entries. Expired ones count as missing. */
import { type Selectable, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Database } from './client.ts'
import { batchedAround, isWithinPath, restoredPath, storedPath } from './entry-paths.ts'
import { lockMember } from './members.ts'
import { lockProvider } from './providers.ts'
import { changeRights } from './rights.ts'
import type { Schema } from './schema.ts'

export interface EntryLock {
  /** A UUID. */
  token: string
  providerId: string
  path: StoragePath
  userId: string
  /** The display name of the member; null without one. */
  holderName: string | null
  isExclusive: boolean
  /** Whether everything below the path is locked as well. */
  isDeep: boolean
  /** XML about the owner, as the client sent it. */
  owner: string
  expiresAt: Date
}

interface NewEntryLock extends Omit<EntryLock, 'expiresAt' | 'holderName'> {
  workspaceId: string
  /** Seconds. */
  timeout: number
}

const isActive = sql<boolean>`entry_locks.expires_at > now()`
const holderName = sql<string | null>`(select name from users where users.id = entry_locks.user_id)`.as('holder_name')

function selectLocks(db: Database) {
  return db.selectFrom('entry_locks').selectAll().select(holderName)
}

/** Returns a function that finds the locks at a path, and those at the folders around it whether they are deep or not. */
export function batchedLocks(db: Database): (providerId: string, path: StoragePath) => Promise<EntryLock[]> {
  return batchedAround(async at => (await selectLocks(db).where(at).where(isActive).execute()).map(toLock))
}

/** Returns the locks at a path and below it, at most `limit`. */
export async function listLocksWithin(
  db: Database,
  providerId: string,
  path: StoragePath,
  limit: number,
): Promise<EntryLock[]> {
  const rows = await selectLocks(db)
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .where(isActive)
    .limit(limit)
    .execute()
  return rows.map(toLock)
}

/**
 * Stores a lock. Transactions that lock in one provider run one after the other, so that two of them cannot miss each other.
 * @param max.member the maximum number of locks of the member
 * @param max.shared the maximum number of shared locks at the path, around it, and below it if the lock is deep, so that no entry
 * has more of them
 * @returns the lock; the locks that conflict; or the maximum that is reached
 */
export function insertLock(
  db: Database,
  lock: NewEntryLock,
  max: { member: number; shared: number },
): Promise<{ lock: EntryLock } | { conflicts: EntryLock[] } | { reached: 'member' | 'shared' }> {
  return changeRights(db, async trx => {
    await lockProvider(trx, lock.providerId)
    await lockMember(trx, lock)
    // Otherwise, locks that expire at once could fill the table.
    await trx
      .deleteFrom('entry_locks')
      .where('workspace_id', '=', lock.workspaceId)
      .where('user_id', '=', lock.userId)
      .where('expires_at', '<=', sql<Date>`now()`)
      .execute()
    const around = await batchedLocks(trx)(lock.providerId, lock.path)
    const above = around.filter(({ isDeep, path }) => isDeep && path !== lock.path)
    const within = lock.isDeep
      ? await listLocksWithin(trx, lock.providerId, lock.path, max.member)
      : around.filter(({ path }) => path === lock.path)
    const others = [...above, ...within]
    const conflicts = others.filter(other => other.isExclusive || lock.isExclusive)
    if (conflicts.length > 0) return { conflicts }
    if (others.length >= max.shared) return { reached: 'shared' }
    const { count } = await trx
      .selectFrom('entry_locks')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .where('workspace_id', '=', lock.workspaceId)
      .where('user_id', '=', lock.userId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= max.member) return { reached: 'member' }
    const row = await trx
      .insertInto('entry_locks')
      .values({
        token: lock.token,
        provider_id: lock.providerId,
        path: storedPath(lock.path),
        workspace_id: lock.workspaceId,
        user_id: lock.userId,
        is_exclusive: lock.isExclusive,
        is_deep: lock.isDeep,
        owner: lock.owner,
        expires_at: endAfter(lock.timeout),
      })
      .returningAll()
      .returning(holderName)
      .executeTakeFirstOrThrow()
    return { lock: toLock(row) }
  })
}

/** Returns null if the lock has ended. @param timeout seconds */
export async function refreshLock(db: Database, token: string, timeout: number): Promise<EntryLock | null> {
  const row = await db
    .updateTable('entry_locks')
    .set({ expires_at: endAfter(timeout) })
    .where('token', '=', token)
    .where(isActive)
    .returningAll()
    .returning(holderName)
    .executeTakeFirst()
  return row ? toLock(row) : null
}

export async function deleteLock(db: Database, token: string): Promise<void> {
  await db.deleteFrom('entry_locks').where('token', '=', token).execute()
}

/** Deletes the locks at a path and below it. */
export async function deleteLocksWithin(db: Database, providerId: string, path: StoragePath): Promise<void> {
  await db
    .deleteFrom('entry_locks')
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .execute()
}

export async function deleteExpiredLocks(db: Database): Promise<void> {
  await db.deleteFrom('entry_locks').where('expires_at', '<=', sql<Date>`now()`).execute()
}

function endAfter(seconds: number) {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}

function toLock(row: Selectable<Schema['entry_locks']> & { holder_name: string | null }): EntryLock {
  return {
    token: row.token,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    userId: row.user_id,
    holderName: row.holder_name,
    isExclusive: row.is_exclusive,
    isDeep: row.is_deep,
    owner: row.owner,
    expiresAt: row.expires_at,
  }
}

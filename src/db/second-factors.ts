/** The codes with which people confirm who they are: secrets of authenticator apps, and recovery codes. */
import type { Change, Database } from './client.ts'

/** The authenticator app of a person. */
export interface StoredTotp {
  /** Encrypted. */
  secret: Buffer
  createdAt: Date
  lastUsedAt: Date | null
}

export async function findTotp(db: Database, userId: string): Promise<StoredTotp | null> {
  const row = await db.selectFrom('totp_secrets').selectAll().where('user_id', '=', userId).executeTakeFirst()
  return row ? { secret: row.secret, createdAt: row.created_at, lastUsedAt: row.last_used_at } : null
}

/** Stores a secret. It replaces an earlier one of the same person. @param step the time step of the code that has confirmed it */
export async function putTotp(
  db: Change,
  { userId, secret, step }: { userId: string; secret: Buffer; step: number },
): Promise<void> {
  await deleteTotp(db, userId)
  await db.insertInto('totp_secrets').values({ user_id: userId, secret, last_step: step }).execute()
}

/** Returns false if there was none. */
export async function deleteTotp(db: Change, userId: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('totp_secrets').where('user_id', '=', userId).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Notes that a code was used. Returns false if one of its time step or a later one was used before. */
export async function useTotpStep(db: Change, userId: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('totp_secrets')
    .set({ last_step: step, last_used_at: new Date() })
    .where('user_id', '=', userId)
    .where('last_step', '<', String(step))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function countRecoveryCodes(db: Database, userId: string): Promise<number> {
  const query = db.selectFrom('recovery_codes').select(({ fn }) => fn.countAll<string>().as('count'))
  return Number((await query.where('user_id', '=', userId).executeTakeFirstOrThrow()).count)
}

/** Replaces all recovery codes of a person. */
export async function putRecoveryCodes(db: Change, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await deleteRecoveryCodes(db, userId)
  await db
    .insertInto('recovery_codes')
    .values(hashes.map(hash => ({ code_hash: hash, user_id: userId })))
    .execute()
}

export async function deleteRecoveryCodes(db: Change, userId: string): Promise<void> {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
}

/** Removes a recovery code, which works once. Returns false if it is none of this person. */
export async function useRecoveryCode(db: Change, userId: string, hash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('recovery_codes')
    .where('code_hash', '=', hash)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

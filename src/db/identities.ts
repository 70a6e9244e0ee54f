/** Queries about the identities at issuers with which people sign in. */
import { type Selectable, sql } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface Identity {
  id: string
  workspaceId: string
  userId: string
  issuer: string
  /** Permanent at the issuer. */
  subject: string
  /** As the issuer said when the identity was linked; null if it did not. */
  email: string | null
  createdAt: Date
  lastUsedAt: Date | null
}

function toIdentity(row: Selectable<Schema['identities']>): Identity {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    issuer: row.issuer,
    subject: row.subject,
    email: row.email,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}

/** @throws a unique violation if the identity is linked */
export async function insertIdentity(
  db: Change,
  { workspaceId, userId, issuer, subject, email }: Omit<Identity, 'id' | 'createdAt' | 'lastUsedAt'>,
): Promise<Identity> {
  const row = await db
    .insertInto('identities')
    .values({ workspace_id: workspaceId, user_id: userId, issuer, subject, email })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toIdentity(row)
}

export async function findIdentity(db: Database, issuer: string, subject: string): Promise<Identity | null> {
  const row = await db
    .selectFrom('identities')
    .selectAll()
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row ? toIdentity(row) : null
}

/** Locks an identity until the end of the transaction and notes its use. Returns false if it was unlinked meanwhile. */
export async function touchIdentity(db: Change, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('identities')
    .set({ last_used_at: sql<Date>`now()` })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns the identities of a user, the oldest first. */
export async function listIdentities(db: Database, userId: string): Promise<Identity[]> {
  const rows = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toIdentity)
}

/** Deletes an identity and ends the sessions that began with it. */
export async function deleteIdentity(db: Change, id: string): Promise<void> {
  await db.deleteFrom('identities').where('id', '=', id).execute()
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('identity_id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Deletes an identity by its subject, and ends the sessions that began with it. */
export async function deleteIssuedIdentity(
  db: Change,
  { userId, issuer, subject }: Pick<Identity, 'userId' | 'issuer' | 'subject'>,
): Promise<void> {
  const identity = await findIdentity(db, issuer, subject)
  if (identity?.userId === userId) await deleteIdentity(db, identity.id)
}

/** Notes that a sign-in has ended. Returns false if it had ended before, because each works once. */
export async function useSignInState(db: Database, stateHash: Buffer, expiresAt: Date): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_sign_ins')
    .values({ state_hash: stateHash, expires_at: expiresAt })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

export async function deleteUsedSignInsBefore(db: Database, time: Date): Promise<void> {
  await sql`delete from used_sign_ins where expires_at < ${time}`.execute(db)
}

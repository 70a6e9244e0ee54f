/** The links with which people set a new password: those that administrators pass on, and those in emails that people ask for. */
import { sql } from 'kysely'
import type { Change, Database } from './client.ts'
import { lockMember } from './members.ts'
import { emailKey } from './users.ts'

/** A link that an administrator passes on. A member has at most one. */
export interface PasswordReset {
  workspaceId: string
  userId: string
  createdBy: string
}

/** A link in an email to a member. It ends with the password and the address that the member had when it was sent. */
export interface MailedReset {
  workspaceId: string
  userId: string
  email: string
  passwordHash: string
  tokenHash: Buffer
  expiresAt: Date
}

/** The maximum number of links in emails to a member. The oldest ends when another one is sent. */
const maxMailed = 3

/** Stores a link of an administrator. It replaces an earlier one of the same person. */
export async function putPasswordReset(
  db: Change,
  { workspaceId, userId, createdBy, tokenHash, expiresAt }: PasswordReset & { tokenHash: Buffer; expiresAt: Date },
): Promise<void> {
  const values = { workspace_id: workspaceId, token_hash: tokenHash, created_by: createdBy, expires_at: expiresAt }
  await db
    .insertInto('password_resets')
    .values({ user_id: userId, ...values })
    .onConflict(conflict => conflict.column('user_id').doUpdateSet(values))
    .execute()
}

export async function insertMailedReset(db: Change, reset: MailedReset): Promise<void> {
  const { workspaceId, userId, email, passwordHash, tokenHash, expiresAt } = reset
  // Two servers that send emails to one person keep the bound together.
  await lockMember(db, { workspaceId, userId })
  await sql`
    delete from mailed_resets where user_id = ${userId}::uuid and token_hash not in (
      select token_hash from mailed_resets where user_id = ${userId}::uuid
      order by expires_at desc limit ${maxMailed - 1})`.execute(db)
  await sql`
    insert into mailed_resets (token_hash, workspace_id, user_id, email_key, password_digest, expires_at)
    values (${tokenHash}, ${workspaceId}::uuid, ${userId}::uuid, ${emailKey(email)},
      sha256(convert_to(${passwordHash}, 'UTF8')), ${expiresAt})`.execute(db)
}

/** Returns whether a link is known and has not expired. */
export async function hasPasswordReset(db: Database, tokenHash: Buffer): Promise<boolean> {
  return (await ownerOf(db, tokenHash)) !== null
}

/**
 * Removes a link, which works once. Returns null if it is unknown or expired, or if the password or the address of the member has
 * changed since it was mailed. Keeps others from changing the password until the end of the transaction.
 * @returns `createdBy` is null for a link from an email
 */
export async function takePasswordReset(
  db: Change,
  tokenHash: Buffer,
): Promise<{ workspaceId: string; userId: string; createdBy: string | null } | null> {
  const owner = await ownerOf(db, tokenHash)
  if (owner === null) return null
  // The links of a member are taken under one lock, in the order in which a removal of the member locks the rows.
  await lockMember(db, owner)
  const given = await db
    .deleteFrom('password_resets')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .returning('created_by')
    .executeTakeFirst()
  if (given) return { ...owner, createdBy: given.created_by }
  const mailed = await db
    .deleteFrom('mailed_resets')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .returning(['email_key', 'password_digest'])
    .executeTakeFirst()
  if (!mailed) return null
  const { rows } = await sql`
    select from users where id = ${owner.userId} and email_key = ${mailed.email_key}
      and sha256(convert_to(password_hash, 'UTF8')) = ${mailed.password_digest} for no key update`.execute(db)
  return rows.length > 0 ? { ...owner, createdBy: null } : null
}

/** Ends all links of a person. */
export async function deletePasswordResetsOf(db: Change, userId: string): Promise<void> {
  await db.deleteFrom('password_resets').where('user_id', '=', userId).execute()
  await db.deleteFrom('mailed_resets').where('user_id', '=', userId).execute()
}

export async function deleteMailedResetsBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('mailed_resets').where('expires_at', '<', time).execute()
}

/** Returns whose link this is; null for one that is unknown or expired. */
async function ownerOf(db: Database, tokenHash: Buffer): Promise<{ workspaceId: string; userId: string } | null> {
  const now = new Date()
  const { rows } = await sql<{ workspaceId: string; userId: string }>`
    select workspace_id as "workspaceId", user_id as "userId" from password_resets
    where token_hash = ${tokenHash} and expires_at > ${now}
    union all
    select workspace_id, user_id from mailed_resets where token_hash = ${tokenHash} and expires_at > ${now}`.execute(db)
  return rows[0] ?? null
}

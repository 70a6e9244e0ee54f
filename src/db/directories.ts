/** Queries about members whose accounts come from a directory, and about the times at which a directory is read. */
import { type SqlBool, sql } from 'kysely'
import type { Member } from '../auth/viewer.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { memberColumns, toMember } from './members.ts'
import { emailKey } from './users.ts'

/** A member with an account of a directory. */
export interface IssuedMember {
  subject: string
  identityId: string
  member: Member
  /** The directory that has deactivated the member; null for an administrator and for a member who is active. */
  deactivatedBy: string | null
  /** The groups of the member that the directory has named. */
  issuedGroups: readonly string[]
}

function membersOf(db: Database, source: string) {
  return db
    .selectFrom('identities')
    .innerJoin('members', join =>
      join
        .onRef('members.workspace_id', '=', 'identities.workspace_id')
        .onRef('members.user_id', '=', 'identities.user_id'),
    )
    .where('identities.issuer', '=', source)
}

/** Returns those of some subjects that have an account. */
export async function findIssuedMembers(
  db: Database,
  source: string,
  subjects: readonly string[],
): Promise<IssuedMember[]> {
  const rows = await membersOf(db, source)
    .innerJoin('users', 'users.id', 'identities.user_id')
    .select(memberColumns)
    .select(['identities.id as identity_id', 'identities.subject', 'members.deactivated_by'])
    .select(
      sql<string[]>`array(
        select group_id from group_members where group_members.workspace_id = identities.workspace_id
          and group_members.user_id = identities.user_id and group_members.issued_by = ${source})::text[]`.as(
        'issued_groups',
      ),
    )
    .where(sql<SqlBool>`identities.subject = any(${subjects}::text[])`)
    .execute()
  return rows.map(row => ({
    subject: row.subject,
    identityId: row.identity_id,
    member: toMember(row),
    deactivatedBy: row.deactivated_by,
    issuedGroups: row.issued_groups,
  }))
}

/** The time of the database, with which it notes when identities are made and used. */
export async function readTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`select now() as at`.execute(db)
  if (!rows[0]) throw new Error('The database has no time.')
  return rows[0].at
}

const isUnusedSince = (since: Date) =>
  sql<SqlBool>`identities.created_at < ${since} and (identities.last_used_at is null or identities.last_used_at < ${since})`

/**
 * Locks an identity until the end of the transaction, so that nobody signs in with it meanwhile. Returns false if somebody has done
 * so since a time, or removed it.
 */
export async function lockUnusedIdentity(db: Change, id: string, since: Date): Promise<boolean> {
  const query = db.selectFrom('identities').select('id').where('id', '=', id).where(isUnusedSince(since))
  return (await query.forUpdate().executeTakeFirst()) !== undefined
}

/**
 * Returns the subjects of the active members of a directory who are no owners and have not signed in since a time, in their order,
 * beginning after a subject.
 */
export async function listActiveSubjects(
  db: Database,
  source: string,
  page: { unusedSince: Date; after: string; limit: number },
): Promise<string[]> {
  const rows = await membersOf(db, source)
    .select('identities.subject')
    .where('identities.subject', '>', page.after)
    .where(isUnusedSince(page.unusedSince))
    .where('members.deactivated_at', 'is', null)
    .where('members.role', '!=', 'OWNER')
    .orderBy('identities.subject')
    .limit(page.limit)
    .execute()
  return rows.map(({ subject }) => subject)
}

/** Returns whether an account comes from a directory. */
export async function hasIdentityOf(db: Database, userId: string, source: string): Promise<boolean> {
  const query = db.selectFrom('identities').select('id').where('user_id', '=', userId).where('issuer', '=', source)
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** Seconds of a claim. The server that has it renews it. */
export const syncClaimSeconds = 60

const isDue = sql<SqlBool>`waiting.due_at <= now() and (waiting.claimed_until is null or waiting.claimed_until < now())`

/** Lets a directory be read for the first time. */
export async function registerSync(db: Database, source: string): Promise<void> {
  await db
    .insertInto('directory_syncs')
    .values({ id: source, due_at: sql<Date>`now()` })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

export function isAnySyncDue(db: Database, source: string): Promise<boolean> {
  return isAnyDue(db, 'directory_syncs', sql<SqlBool>`waiting.id = ${source} and ${isDue}`)
}

/** Returns false if it is not due, or another server reads the directory. */
export async function claimSync(db: Database, source: string, claimId: string): Promise<boolean> {
  const dueKeys = dueRows('directory_syncs', {
    isDue: sql<SqlBool>`waiting.id = ${source} and ${isDue}`,
    orderBy: sql`waiting.due_at`,
  })
  const set = sql`claim_id = ${claimId}, claimed_until = ${secondsFromNow(syncClaimSeconds)}`
  return (await claimRows(db, 'directory_syncs', { dueKeys, set })).length > 0
}

/** Returns false if another server has the claim. */
export async function renewSync(db: Database, source: string, claimId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('directory_syncs')
    .set({ claimed_until: secondsFromNow(syncClaimSeconds) })
    .where('id', '=', source)
    .where('claim_id', '=', claimId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a claim. @param outcome.people null for a reading that failed @param outcome.seconds until the next one */
export async function settleSync(
  db: Database,
  { source, claimId }: { source: string; claimId: string },
  outcome: { seconds: number; people: number | null; error: string | null },
): Promise<void> {
  await db
    .updateTable('directory_syncs')
    .set({
      due_at: secondsFromNow(outcome.seconds),
      claim_id: null,
      claimed_until: null,
      error: outcome.error,
      ...(outcome.people !== null && { ended_at: sql<Date>`now()`, people: outcome.people }),
    })
    .where('id', '=', source)
    .where('claim_id', '=', claimId)
    .execute()
}

/** Marks a change of the account of a member by a directory. */
export async function setIssuedEmail(db: Change, identityId: string, email: string): Promise<void> {
  await db.updateTable('identities').set({ email }).where('id', '=', identityId).execute()
}

/** The last reading of a directory. */
export interface SyncState {
  source: string
  readAt: Date | null
  people: number | null
  error: string | null
}

export async function findSync(db: Database, source: string): Promise<SyncState | null> {
  const row = await db.selectFrom('directory_syncs').selectAll().where('id', '=', source).executeTakeFirst()
  return row ? { source: row.id, readAt: row.ended_at, people: row.people, error: row.error } : null
}

export type DirectoryKind = 'LDAP' | 'SCIM'

/** A directory that manages an account. */
export interface NamedDirectory {
  kind: DirectoryKind
  /** Null for LDAP. */
  id: string | null
  /** The name that an administrator has given to it, or the base of the LDAP directory. */
  name: string
}

/** Returns the directories that manage accounts, by the ids of users. */
export async function findDirectoriesOf(
  db: Database,
  userIds: readonly string[],
): Promise<Map<string, NamedDirectory>> {
  const { rows } = await sql<NamedDirectory & { userId: string }>`
    select user_id as "userId", 'LDAP' as kind, null::uuid as id, substr(issuer, 6) as name from identities
    where user_id = any(${userIds}::uuid[]) and starts_with(issuer, 'ldap:')
    union all
    select user_id, 'SCIM', scim_directories.id, scim_directories.name from scim_users
    join scim_directories on scim_directories.id = scim_users.directory_id
    where user_id = any(${userIds}::uuid[])`.execute(db)
  return new Map(rows.map(({ userId, kind, id, name }) => [userId, { kind, id, name }]))
}

/** Returns the directory of the account that has an email address; null if nobody has it. */
export async function findEmailHolder(
  db: Database,
  email: string,
): Promise<{ directory: NamedDirectory | null } | null> {
  const query = db.selectFrom('users').select('id').where('email_key', '=', emailKey(email))
  const holder = await query.executeTakeFirst()
  return holder ? { directory: (await findDirectoriesOf(db, [holder.id])).get(holder.id) ?? null } : null
}

/**
 * Returns the ids of the groups that an issuer or a directory has named, by the ids of users. Who has named them must still be there:
 * otherwise nobody would end these memberships.
 * @param sources the issuer that the operator has set, if it names groups, and the LDAP directory. A directory that uses SCIM is there
 *   while it has a token, and another issuer while it is enabled and has a claim with groups.
 */
export async function findIssuedGroupIds(
  db: Database,
  userIds: readonly string[],
  sources: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await sql<{ id: string; groups: string[] }>`
    select user_id as id, array_agg(group_id::text) as groups from group_members
    where user_id = any(${userIds}::uuid[]) and (issued_by = any(${sources}::text[]) or exists (
        select from issuers
        where issuers.workspace_id = group_members.workspace_id and issuers.issuer = issued_by
          and is_enabled and groups_claim is not null
      ) or starts_with(issued_by, 'scim:') and exists (
      select from scim_tokens
      where scim_tokens.workspace_id = group_members.workspace_id and scim_tokens.revoked_at is null
        and scim_tokens.directory_id::text = substr(issued_by, 6)))
    group by user_id`.execute(db)
  return new Map(rows.map(({ id, groups }) => [id, groups]))
}

import { type Selectable, type SqlBool, sql } from 'kysely'
import { type ProviderAccess, restoreAccess, type StoredAccess, storeAccess } from '../auth/access.ts'
import type { Role } from '../auth/scopes.ts'
import { combine, type Given, type Member } from '../auth/viewer.ts'
import type { Change, Database } from './client.ts'
import { batched } from './lookups.ts'
import type { Schema } from './schema.ts'

/** A group as `groupsOfMember` returns it. */
interface StoredGroup {
  id: string
  name: string
  role: Role
  access: StoredAccess
}

/** The groups of a member, null for none. */
const groupsOfMember = sql<StoredGroup[] | null>`(
  select jsonb_agg(jsonb_build_object('id', groups.id, 'name', groups.name, 'role', groups.role, 'access', groups.provider_access)
    order by groups.name_key)
  from group_members join groups on groups.workspace_id = group_members.workspace_id and groups.id = group_members.group_id
  where group_members.workspace_id = members.workspace_id and group_members.user_id = members.user_id)`

/** The columns of a member and the user behind it, for `toMember`. */
export const memberColumns = [
  'members.workspace_id',
  'members.user_id',
  'members.role',
  'members.provider_access as member_access',
  'members.deactivated_at',
  'users.email',
  'users.name as user_name',
  'users.language as user_language',
  'users.gets_mentions',
  'users.is_service',
  'users.created_at as user_created_at',
  groupsOfMember.as('member_groups'),
] as const

type MemberRow = Pick<Selectable<Schema['members']>, 'workspace_id' | 'user_id' | 'role' | 'deactivated_at'> &
  Pick<Selectable<Schema['users']>, 'email' | 'is_service' | 'gets_mentions'> & {
    member_access: Selectable<Schema['members']>['provider_access']
    user_name: string | null
    user_language: string | null
    user_created_at: Date
    member_groups: StoredGroup[] | null
  }

export function toMember(row: MemberRow): Member {
  const own: Given = { role: row.role, access: restoreAccess(row.member_access) }
  const groups = (row.member_groups ?? []).map(({ access, ...group }) => ({ ...group, access: restoreAccess(access) }))
  return {
    ...combine(own, groups),
    own,
    groups,
    userId: row.user_id,
    workspaceId: row.workspace_id,
    email: row.email,
    name: row.user_name,
    language: row.user_language,
    getsMentions: row.gets_mentions,
    isService: row.is_service,
    createdAt: row.user_created_at,
    deactivatedAt: row.deactivated_at,
  }
}

export async function insertMember(
  db: Change,
  values: { workspaceId: string; userId: string; role: Role; access: ProviderAccess; isConfirmed: boolean },
): Promise<Member> {
  await db
    .insertInto('members')
    .values({
      workspace_id: values.workspaceId,
      user_id: values.userId,
      role: values.role,
      provider_access: JSON.stringify(storeAccess(values.access)),
      is_confirmed: values.isConfirmed,
    })
    .execute()
  const member = await findMember(db, values.workspaceId, values.userId)
  if (!member) throw new Error('A member that was just inserted is missing')
  return member
}

export async function findMember(db: Database, workspaceId: string, userId: string): Promise<Member | null> {
  return (await findMembers(db, workspaceId, [userId]))[0] ?? null
}

async function findMembers(db: Database, workspaceId: string, userIds: readonly string[]): Promise<Member[]> {
  const rows = await selectMembers(db)
    .where('members.workspace_id', '=', workspaceId)
    .where('members.user_id', 'in', userIds)
    .execute()
  return rows.map(toMember)
}

/** Finds members by `<workspace id>/<user id>`, those of one turn of the event loop in one query for each workspace. */
export function batchedMembers(db: Database): (key: string) => Promise<Member | null> {
  return batched(async (keys: readonly string[]) => {
    const found = new Map<string, Member>()
    for (const [workspaceId, group] of Map.groupBy(keys, key => key.slice(0, key.indexOf('/')))) {
      const ids = group.map(key => key.slice(workspaceId.length + 1))
      for (const member of await findMembers(db, workspaceId, ids)) found.set(`${workspaceId}/${member.userId}`, member)
    }
    return found
  })
}

/** The workspaces that a user is in, the oldest membership first. */
export async function findMemberships(db: Database, userId: string): Promise<Member[]> {
  const rows = await selectMembers(db).where('members.user_id', '=', userId).orderBy('members.created_at').execute()
  return rows.map(toMember)
}

/** A position in the order of joining. */
export interface Joined {
  /** The column also has a precision of milliseconds. */
  at: Date
  userId: string
}

/** A member, and whether an administrator knows who has the account: they were invited, or an administrator has set their role. */
export interface ListedMember {
  member: Member
  isConfirmed: boolean
  joined: Joined
}

/** Undefined properties select all members. */
export interface MemberFilter {
  groupId?: string | undefined
  isService?: boolean | undefined
  isOwner?: boolean | undefined
  /** Whether they have an identity with which people can sign in: at an issuer that is enabled, or at one of the sources. */
  identities?: { present: boolean; sources: readonly string[] } | undefined
}

/** Returns members in the order of joining, starting after the person `after`, who may no longer be a member. */
export async function listMembers(
  db: Database,
  workspaceId: string,
  page: { limit: number; after: Joined | null },
  { groupId, isService, isOwner, identities }: MemberFilter = {},
): Promise<ListedMember[]> {
  const { limit, after } = page
  let query = selectMembers(db)
    .select(['members.created_at as joined_at', 'members.is_confirmed'])
    .where('members.workspace_id', '=', workspaceId)
    .orderBy('members.created_at')
    .orderBy('members.user_id')
    .limit(limit)
  if (after) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('members.created_at', 'members.user_id'), '>', tuple(after.at, after.userId)),
    )
  }
  if (isService !== undefined) query = query.where('users.is_service', '=', isService)
  if (isOwner !== undefined) query = query.where('members.role', isOwner ? '=' : '!=', 'OWNER')
  if (identities !== undefined) {
    query = query.where(
      sql<SqlBool>`exists (
        select from identities where identities.workspace_id = members.workspace_id and identities.user_id = members.user_id
          and (identities.issuer = any(${identities.sources}::text[]) or exists (
            select from issuers
            where issuers.workspace_id = identities.workspace_id and issuers.issuer = identities.issuer and is_enabled
          ))
      ) = ${identities.present}`,
    )
  }
  if (groupId !== undefined) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('group_members')
          .select('user_id')
          .where('group_id', '=', groupId)
          .whereRef('group_members.workspace_id', '=', 'members.workspace_id')
          .whereRef('group_members.user_id', '=', 'members.user_id'),
      ),
    )
  }
  const rows = await query.execute()
  return rows.map(row => ({
    member: toMember(row),
    isConfirmed: row.is_confirmed,
    joined: { at: row.joined_at, userId: row.user_id },
  }))
}

/**
 * Locks a member until the end of the transaction, so that concurrent transactions cannot exceed a limit that each one checks.
 */
export async function lockMember(
  db: Database,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
): Promise<void> {
  await db
    .selectFrom('members')
    .select('user_id')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .forNoKeyUpdate()
    .execute()
}

/** Changes a member for an administrator, who thereby confirms the account. */
export async function updateMember(
  db: Change,
  workspaceId: string,
  userId: string,
  values: { role: Role; access: ProviderAccess },
): Promise<void> {
  await db
    .updateTable('members')
    .set({ role: values.role, provider_access: JSON.stringify(storeAccess(values.access)), is_confirmed: true })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

/** Notes that an administrator knows who has the account. */
export async function confirmMember(db: Change, workspaceId: string, userId: string): Promise<void> {
  await db
    .updateTable('members')
    .set({ is_confirmed: true })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

/** Deletes a member. The database also deletes their sessions and keys. */
export async function deleteMember(db: Change, workspaceId: string, userId: string): Promise<void> {
  await db.deleteFrom('members').where('workspace_id', '=', workspaceId).where('user_id', '=', userId).execute()
}

/** Refuses the credentials of a member from now on, for an administrator, also if a directory has done so already. */
export async function deactivateMember(
  db: Change,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
): Promise<void> {
  await db
    .updateTable('members')
    .set({ deactivated_at: sql<Date>`coalesce(deactivated_at, now())`, deactivated_by: null })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

/**
 * Refuses the credentials of a member for a directory, which changes no owner and nobody who is deactivated already. Returns false if
 * nothing changed. @param source of the directory
 */
export async function deactivateIssuedMember(
  db: Change,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
  source: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('members')
    .set({ deactivated_at: sql<Date>`now()`, deactivated_by: source })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('role', '!=', 'OWNER')
    .where('deactivated_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** @param by only if this directory has deactivated them. Default: whoever has. Returns false if nothing changed. */
export async function reactivateMember(
  db: Change,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
  by?: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('members')
    .set({ deactivated_at: null, deactivated_by: null })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('deactivated_at', 'is not', null)
    .$if(by !== undefined, query => query.where('deactivated_by', '=', by ?? ''))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Counts the active owners with access to all providers. */
export async function countOwners(db: Database, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('role', '=', 'OWNER')
    .where('deactivated_at', 'is', null)
    .where(sql<boolean>`provider_access -> 'all' = 'true'`)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Returns whether all of some people are active owners. */
export async function areOwners(db: Database, workspaceId: string, userIds: readonly string[]): Promise<boolean> {
  const { count } = await db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('role', '=', 'OWNER')
    .where('deactivated_at', 'is', null)
    .where(sql<SqlBool>`user_id = any(${userIds}::uuid[])`)
    .executeTakeFirstOrThrow()
  return Number(count) === new Set(userIds).size
}

/** Returns whether an owner with access to all providers has a password, or an identity of one of the issuers. */
export async function hasOwnerWithWayIn(
  db: Database,
  workspaceId: string,
  issuers: readonly string[],
): Promise<boolean> {
  const row = await db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select('members.user_id')
    .where('members.workspace_id', '=', workspaceId)
    .where('members.role', '=', 'OWNER')
    .where('members.deactivated_at', 'is', null)
    .where(sql<boolean>`members.provider_access -> 'all' = 'true'`)
    .where(({ or, eb, exists, selectFrom }) =>
      or([
        eb('users.password_hash', 'is not', null),
        exists(
          selectFrom('identities')
            .select('identities.id')
            .whereRef('identities.workspace_id', '=', 'members.workspace_id')
            .whereRef('identities.user_id', '=', 'members.user_id')
            .where('identities.issuer', '=', sql<string>`any(${issuers}::text[])`),
        ),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

function selectMembers(db: Database) {
  return db.selectFrom('members').innerJoin('users', 'users.id', 'members.user_id').select(memberColumns)
}

export async function countServiceAccounts(db: Database, workspaceId: string): Promise<number> {
  const { count } = await serviceAccounts(db, workspaceId)
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function hasServiceAccount(db: Database, workspaceId: string, name: string): Promise<boolean> {
  const query = serviceAccounts(db, workspaceId).select('users.id').where('users.name', '=', name).limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

function serviceAccounts(db: Database, workspaceId: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .where('members.workspace_id', '=', workspaceId)
    .where('users.is_service', '=', true)
}

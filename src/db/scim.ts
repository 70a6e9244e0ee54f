/** Queries about the users and groups that SCIM manages. */
import { type ExpressionBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { Member } from '../auth/viewer.ts'
import type { Change, Database } from './client.ts'
import { type GroupRole, groupKey } from './groups.ts'
import { memberColumns, toMember } from './members.ts'
import type { Schema } from './schema.ts'
import { type ScimDirectory, scimSource } from './scim-tokens.ts'
import { emailKey } from './users.ts'

/** A directory, and the workspace whose groups it uses. */
export interface ScimScope {
  workspaceId: string
  directory: Pick<ScimDirectory, 'id'>
}

/** A member that a directory manages over SCIM. */
export interface ScimUser {
  member: Member
  userName: string
  externalId: string | null
  givenName: string | null
  familyName: string | null
  /** The directory that has deactivated the member; null for an administrator and for a member who is active. */
  deactivatedBy: string | null
  createdAt: Date
  updatedAt: Date
}

/** A condition on a column; several of them must all hold. */
export interface ScimTerm<Field extends string> {
  field: Field
  operator: 'eq' | 'sw' | 'co'
  value: string
}

export type ScimUserField =
  | 'id'
  | 'userName'
  | 'externalId'
  | 'email'
  | 'displayName'
  | 'givenName'
  | 'familyName'
  | 'active'
export type ScimGroupField = 'id' | 'displayName' | 'externalId' | 'member'

type UserValues = Pick<ScimUser, 'userName' | 'externalId' | 'givenName' | 'familyName'>

function columnsOf({ userName, externalId, givenName, familyName }: UserValues) {
  return {
    user_name: userName,
    user_name_key: emailKey(userName),
    external_id: externalId,
    given_name: givenName,
    family_name: familyName,
  }
}

/** @throws a unique violation if the user name or the external id is taken */
export async function insertScimUser(
  db: Change,
  { workspaceId, directory }: ScimScope,
  userId: string,
  values: UserValues,
): Promise<void> {
  await db
    .insertInto('scim_users')
    .values({ workspace_id: workspaceId, user_id: userId, directory_id: directory.id, ...columnsOf(values) })
    .execute()
}

/** @throws a unique violation if the user name or the external id is taken */
export async function updateScimUser(db: Change, { member }: ScimUser, values: UserValues): Promise<void> {
  await db
    .updateTable('scim_users')
    .set({ ...columnsOf(values), updated_at: new Date() })
    .where('workspace_id', '=', member.workspaceId)
    .where('user_id', '=', member.userId)
    .execute()
}

export async function findScimUser(db: Database, scope: ScimScope, userId: string): Promise<ScimUser | null> {
  const row = await usersOf(db, scope).where('scim_users.user_id', '=', userId).executeTakeFirst()
  return row ? toUser(row) : null
}

/** Returns a page of users in the order of their creation, and the number of all that match. */
export async function listScimUsers(
  db: Database,
  scope: ScimScope,
  terms: readonly ScimTerm<ScimUserField>[],
  page: { offset: number; limit: number },
): Promise<{ total: number; items: ScimUser[] }> {
  const conditions = terms.map(userCondition)
  const { count } = await joinedUsers(db, scope)
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where(({ and }) => and(conditions))
    .executeTakeFirstOrThrow()
  if (page.limit === 0) return { total: Number(count), items: [] }
  const rows = await usersOf(db, scope)
    .where(({ and }) => and(conditions))
    .orderBy('scim_users.created_at')
    .orderBy('scim_users.user_id')
    .offset(page.offset)
    .limit(page.limit)
    .execute()
  return { total: Number(count), items: rows.map(toUser) }
}

function joinedUsers(db: Database, { directory }: ScimScope) {
  return db
    .selectFrom('scim_users')
    .innerJoin('members', join =>
      join
        .onRef('members.workspace_id', '=', 'scim_users.workspace_id')
        .onRef('members.user_id', '=', 'scim_users.user_id'),
    )
    .innerJoin('users', 'users.id', 'scim_users.user_id')
    .where('scim_users.directory_id', '=', directory.id)
}

function usersOf(db: Database, scope: ScimScope) {
  return joinedUsers(db, scope)
    .select(memberColumns)
    .select([
      'scim_users.user_name as scim_user_name',
      'scim_users.external_id',
      'scim_users.given_name',
      'scim_users.family_name',
      'members.deactivated_by',
      'scim_users.created_at as scim_created_at',
      'scim_users.updated_at as scim_updated_at',
    ])
}

type UserRow = Awaited<ReturnType<ReturnType<typeof usersOf>['execute']>>[number]

function toUser(row: UserRow): ScimUser {
  return {
    member: toMember(row),
    userName: row.scim_user_name,
    externalId: row.external_id,
    givenName: row.given_name,
    familyName: row.family_name,
    deactivatedBy: row.deactivated_by,
    createdAt: row.scim_created_at,
    updatedAt: row.scim_updated_at,
  }
}

/** Names differ only in more than case and normal form, and ids in every character. */
function userCondition({ field, operator, value }: ScimTerm<ScimUserField>) {
  const columns = {
    id: sql`scim_users.user_id::text`,
    userName: sql`scim_users.user_name_key`,
    externalId: sql`scim_users.external_id`,
    email: sql`users.email_key`,
    displayName: sql`lower(users.name)`,
    givenName: sql`lower(scim_users.given_name)`,
    familyName: sql`lower(scim_users.family_name)`,
    active: sql`(members.deactivated_at is null)::text`,
  } as const
  const isKey = field === 'userName' || field === 'email'
  const isId = field === 'id' || field === 'externalId'
  return matches(columns[field], operator, isKey ? emailKey(value) : isId ? value : value.toLowerCase())
}

function matches(column: ReturnType<typeof sql>, operator: 'eq' | 'sw' | 'co', value: string) {
  if (operator === 'eq') return sql<SqlBool>`${column} = ${value}`
  if (operator === 'sw') return sql<SqlBool>`starts_with(${column}, ${value})`
  return sql<SqlBool>`position(${value} in ${column}) > 0`
}

/** A group as a directory sees it. */
export interface ScimGroup {
  id: string
  name: string
  externalId: string | null
  /** Whether this directory has created it. */
  isIssued: boolean
  role: GroupRole
  createdAt: Date
  updatedAt: Date
}

function groupsOf(db: Database, { workspaceId, directory }: ScimScope) {
  return db
    .selectFrom('groups')
    .leftJoin('scim_group_ids', join =>
      join.onRef('scim_group_ids.group_id', '=', 'groups.id').on('scim_group_ids.directory_id', '=', directory.id),
    )
    .where('groups.workspace_id', '=', workspaceId)
}

const groupColumns = [
  'groups.id',
  'groups.name',
  'groups.scim_directory_id',
  'groups.role',
  'groups.created_at',
  'groups.updated_at',
  'scim_group_ids.external_id',
] as const

type GroupRow = Pick<
  Selectable<Schema['groups']>,
  'id' | 'name' | 'scim_directory_id' | 'role' | 'created_at' | 'updated_at'
> & { external_id: string | null }

function toGroup(row: GroupRow, { directory }: ScimScope): ScimGroup {
  return {
    id: row.id,
    name: row.name,
    externalId: row.external_id,
    isIssued: row.scim_directory_id === directory.id,
    role: row.role,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export async function findScimGroup(db: Database, scope: ScimScope, id: string): Promise<ScimGroup | null> {
  const row = await groupsOf(db, scope).select(groupColumns).where('groups.id', '=', id).executeTakeFirst()
  return row ? toGroup(row, scope) : null
}

/** Returns a page of groups in the order of their names, and the number of all that match. */
export async function listScimGroups(
  db: Database,
  scope: ScimScope,
  terms: readonly ScimTerm<ScimGroupField>[],
  page: { offset: number; limit: number },
): Promise<{ total: number; items: ScimGroup[] }> {
  const query = groupsOf(db, scope).where(({ and, ...builder }) =>
    and(terms.map(term => groupCondition(builder, scope, term))),
  )
  const { count } = await query.select(({ fn }) => fn.countAll<string>().as('count')).executeTakeFirstOrThrow()
  if (page.limit === 0) return { total: Number(count), items: [] }
  const rows = await query
    .select(groupColumns)
    .orderBy('groups.name_key')
    .offset(page.offset)
    .limit(page.limit)
    .execute()
  return { total: Number(count), items: rows.map(row => toGroup(row, scope)) }
}

function groupCondition(
  { exists, selectFrom }: Pick<ExpressionBuilder<Schema, 'groups'>, 'exists' | 'selectFrom'>,
  { directory }: ScimScope,
  { field, operator, value }: ScimTerm<ScimGroupField>,
) {
  if (field === 'member') {
    return exists(
      selectFrom('group_members')
        .select('group_members.user_id')
        .whereRef('group_members.group_id', '=', 'groups.id')
        .where('group_members.issued_by', '=', scimSource(directory))
        .where(matches(sql`group_members.user_id::text`, operator, value)),
    )
  }
  if (field === 'displayName') return matches(sql`groups.name_key`, operator, groupKey(value))
  return matches(field === 'id' ? sql`groups.id::text` : sql`scim_group_ids.external_id`, operator, value)
}

export interface ScimGroupMember {
  groupId: string
  userId: string
  email: string
  name: string | null
}

/** Returns the members that a directory has given to groups. */
export async function listScimGroupMembers(
  db: Database,
  { workspaceId, directory }: ScimScope,
  groupIds: readonly string[],
  limit: number,
): Promise<ScimGroupMember[]> {
  if (groupIds.length === 0) return []
  return db
    .selectFrom('group_members')
    .innerJoin('users', 'users.id', 'group_members.user_id')
    .select(['group_members.group_id as groupId', 'users.id as userId', 'users.email', 'users.name'])
    .where('group_members.workspace_id', '=', workspaceId)
    .where('group_members.group_id', 'in', groupIds)
    .where('group_members.issued_by', '=', scimSource(directory))
    .orderBy('group_members.user_id')
    .limit(limit)
    .execute()
}

/** Notes that a directory has created a group. */
export async function setScimCreator(db: Change, { directory }: ScimScope, id: string): Promise<void> {
  await db.updateTable('groups').set({ scim_directory_id: directory.id }).where('id', '=', id).execute()
}

/** Notes how a directory names a group; null if it does not. */
export async function setScimGroupId(
  db: Change,
  { directory }: ScimScope,
  id: string,
  externalId: string | null,
): Promise<void> {
  await db.updateTable('groups').set({ updated_at: new Date() }).where('id', '=', id).execute()
  if (externalId === null) {
    const query = db.deleteFrom('scim_group_ids').where('directory_id', '=', directory.id)
    await query.where('group_id', '=', id).execute()
    return
  }
  await db
    .insertInto('scim_group_ids')
    .values({ directory_id: directory.id, group_id: id, external_id: externalId })
    .onConflict(conflict => conflict.columns(['directory_id', 'group_id']).doUpdateSet({ external_id: externalId }))
    .execute()
}

/** Returns which of some ids are users of a directory, and whether they are owners. */
export async function findScimUserIds(
  db: Database,
  scope: ScimScope,
  ids: readonly string[],
): Promise<{ id: string; isOwner: boolean; groups: number }[]> {
  const rows = await joinedUsers(db, scope)
    .select([
      'members.user_id as id',
      'members.role',
      sql<string>`(select count(*) from group_members where group_members.workspace_id = members.workspace_id
        and group_members.user_id = members.user_id)`.as('groups'),
    ])
    .where(sql<SqlBool>`scim_users.user_id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(({ id, role, groups }) => ({ id, isOwner: role === 'OWNER', groups: Number(groups) }))
}

/** Adds members for a directory. Memberships that somebody else has made stay theirs. Returns the ids of those who have joined. */
export async function addScimGroupMembers(
  db: Change,
  { workspaceId, directory }: ScimScope,
  { groupId, userIds }: { groupId: string; userIds: readonly string[] },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into group_members (workspace_id, group_id, user_id, issued_by)
    select ${workspaceId}::uuid, ${groupId}::uuid, id, ${scimSource(directory)} from unnest(${userIds}::uuid[]) as id
    on conflict do nothing returning user_id as id`.execute(db)
  return rows.map(({ id }) => id)
}

/** Removes members that a directory has added. */
export async function removeScimGroupMembers(
  db: Change,
  { workspaceId, directory }: ScimScope,
  { groupId, userIds }: { groupId: string; userIds: readonly string[] },
): Promise<void> {
  await sql`
    delete from group_members where workspace_id = ${workspaceId} and group_id = ${groupId}
      and issued_by = ${scimSource(directory)} and user_id = any(${userIds}::uuid[])`.execute(db)
}

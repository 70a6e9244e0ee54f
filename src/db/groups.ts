import type { Selectable } from 'kysely'
import { restoreAccess, storeAccess } from '../auth/access.ts'
import type { Role } from '../auth/scopes.ts'
import type { MemberGroup } from '../auth/viewer.ts'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export type GroupRole = Exclude<Role, 'OWNER'>

/** The values of a group that can change. */
export interface GroupValues extends Pick<MemberGroup, 'name' | 'access'> {
  role: GroupRole
}

const groupColumns = ['groups.id', 'groups.name', 'groups.role', 'groups.provider_access'] as const

/** Returns the key by which names are unique and sorted, without differences of case and Unicode normal form. */
export function groupKey(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

/** @throws a unique violation if the name is taken */
export async function insertGroup(db: Change, workspaceId: string, values: GroupValues): Promise<MemberGroup> {
  const { id } = await db
    .insertInto('groups')
    .values({ workspace_id: workspaceId, ...columnsOf(values) })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id, ...values }
}

/** @throws a unique violation if the name is taken */
export async function updateGroup(db: Change, id: string, values: GroupValues): Promise<void> {
  await db.updateTable('groups').set(columnsOf(values)).where('id', '=', id).execute()
}

/** Deletes a group and its memberships. */
export async function deleteGroup(db: Change, id: string): Promise<void> {
  await db.deleteFrom('groups').where('id', '=', id).execute()
}

export async function findGroup(db: Database, workspaceId: string, id: string): Promise<MemberGroup | null> {
  const row = await groupsOf(db, workspaceId).where('id', '=', id).executeTakeFirst()
  return row ? toGroup(row) : null
}

/** Returns groups in the order of their names. @param page.after a key: groups with later keys are returned */
export async function listGroups(
  db: Database,
  workspaceId: string,
  page: { limit: number; after: string | null },
): Promise<MemberGroup[]> {
  let query = groupsOf(db, workspaceId).orderBy('name_key').limit(page.limit)
  if (page.after !== null) query = query.where('name_key', '>', page.after)
  return (await query.execute()).map(toGroup)
}

export async function countGroups(db: Database, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('groups')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Returns the number of members by the ids of groups. Groups without members are missing. */
export async function countGroupMembers(db: Database, groupIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('groups')
    .innerJoin('group_members', join =>
      join
        .onRef('group_members.workspace_id', '=', 'groups.workspace_id')
        .onRef('group_members.group_id', '=', 'groups.id'),
    )
    .select(['groups.id', ({ fn }) => fn.countAll<string>().as('count')])
    .where('groups.id', 'in', groupIds)
    .groupBy('groups.id')
    .execute()
  return new Map(rows.map(({ id, count }) => [id, Number(count)]))
}

interface Membership {
  workspaceId: string
  groupId: string
  userId: string
}

export async function insertGroupMember(db: Change, { workspaceId, groupId, userId }: Membership): Promise<void> {
  await db
    .insertInto('group_members')
    .values({ workspace_id: workspaceId, group_id: groupId, user_id: userId })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

/** Returns false if they were not in the group. */
export async function deleteGroupMember(db: Change, { workspaceId, groupId, userId }: Membership): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('group_members')
    .where('workspace_id', '=', workspaceId)
    .where('group_id', '=', groupId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

function groupsOf(db: Database, workspaceId: string) {
  return db.selectFrom('groups').select(groupColumns).where('workspace_id', '=', workspaceId)
}

function columnsOf({ name, role, access }: GroupValues) {
  return {
    name,
    name_key: groupKey(name),
    role,
    provider_access: JSON.stringify(storeAccess(access)),
  }
}

function toGroup(row: Pick<Selectable<Schema['groups']>, 'id' | 'name' | 'role' | 'provider_access'>): MemberGroup {
  return { id: row.id, name: row.name, role: row.role, access: restoreAccess(row.provider_access) }
}

/** Returns those of some groups that exist, in the order of their names. */
export async function findGroups(db: Database, workspaceId: string, ids: readonly string[]): Promise<MemberGroup[]> {
  if (ids.length === 0) return []
  return (await groupsOf(db, workspaceId).where('id', 'in', ids).orderBy('name_key').execute()).map(toGroup)
}

/** Returns the groups with some of the names, without differences of case. */
export async function findGroupsNamed(
  db: Database,
  workspaceId: string,
  names: readonly string[],
): Promise<MemberGroup[]> {
  if (names.length === 0) return []
  const rows = await groupsOf(db, workspaceId)
    .where('name_key', 'in', [...new Set(names.map(groupKey))])
    .orderBy('name_key')
    .execute()
  return rows.map(toGroup)
}

/** Returns the issuers and directories that have named groups of a member, by the ids of the groups. */
export async function issuedGroupsOf(db: Database, workspaceId: string, userId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('group_members')
    .select(['group_id', 'issued_by'])
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('issued_by', 'is not', null)
    .execute()
  return new Map(rows.map(row => [row.group_id, row.issued_by ?? '']))
}

/** Adds a member to groups that an issuer names, and removes them from others that it named before. */
export async function putIssuedGroups(
  db: Change,
  issuer: string,
  { workspaceId, userId, joined, left }: { workspaceId: string; userId: string; joined: string[]; left: string[] },
): Promise<void> {
  if (joined.length > 0) {
    const values = joined.map(id => ({ workspace_id: workspaceId, group_id: id, user_id: userId, issued_by: issuer }))
    await db
      .insertInto('group_members')
      .values(values)
      .onConflict(conflict => conflict.doNothing())
      .execute()
  }
  if (left.length > 0) {
    await db
      .deleteFrom('group_members')
      .where('workspace_id', '=', workspaceId)
      .where('user_id', '=', userId)
      .where('group_id', 'in', left)
      .where('issued_by', '=', issuer)
      .execute()
  }
}

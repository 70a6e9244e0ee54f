/** The people and groups of a workspace with whom something is shared. */
import { sql } from 'kysely'
import type { Member, ShareRecipient } from '../../auth/viewer.ts'
import type { Change, Database } from '../client.ts'

/** The recipients of a share, for `shareColumns`; null for a share that everybody with its link can open. */
export const recipientsOfShare = sql<ShareRecipient[] | null>`(
  case when shares.is_for_members then (
    select coalesce(jsonb_agg(jsonb_build_object(
      'kind', case when r.group_id is null then 'USER' else 'GROUP' end,
      'id', coalesce(r.group_id, r.user_id), 'name', coalesce(g.name, u.name, u.email), 'email', u.email)
      order by lower(coalesce(g.name, u.name, u.email)), r.id), '[]')
    from share_recipients r
    left join users u on u.id = r.user_id
    left join groups g on g.workspace_id = r.workspace_id and g.id = r.group_id
    where r.share_id = shares.id
  ) end)`

/** Selects the groups of a workspace, and the people whom an administrator knows and who can sign in. */
const possibleRecipients = (workspaceId: string) => sql<ShareRecipient>`
  select 'USER' as kind, users.id, coalesce(users.name, users.email) as name, users.email
  from members join users on users.id = members.user_id
  where members.workspace_id = ${workspaceId}
    and members.is_confirmed and members.deactivated_at is null and not users.is_service
  union all
  select 'GROUP', id, name, null from groups where workspace_id = ${workspaceId}`

/** Finds people and groups by their ids. */
export async function findRecipients(
  db: Database,
  workspaceId: string,
  { userIds, groupIds }: { userIds: readonly string[]; groupIds: readonly string[] },
): Promise<ShareRecipient[]> {
  const { rows } = await sql<ShareRecipient>`
    select * from (${possibleRecipients(workspaceId)}) found
    where kind = 'USER' and id = any(${userIds}::uuid[]) or kind = 'GROUP' and id = any(${groupIds}::uuid[])`.execute(
    db,
  )
  return rows
}

/** Finds people and groups, except one person, whose name or email contains a text, in the order of their names. */
export async function searchRecipients(
  db: Database,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
  { text, limit }: { text: string; limit: number },
): Promise<ShareRecipient[]> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  const { rows } = await sql<ShareRecipient>`
    select * from (${possibleRecipients(workspaceId)}) found
    where id <> ${userId} and (name ilike ${pattern} or email ilike ${pattern})
    order by lower(name), id limit ${limit}`.execute(db)
  return rows
}

/**
 * Inserts the people and groups that are not recipients yet, and returns them. Call it in the transaction that inserts or locks the share.
 */
export async function insertRecipients(
  db: Change,
  share: { id: string; workspaceId: string },
  recipients: readonly ShareRecipient[],
): Promise<ShareRecipient[]> {
  if (recipients.length === 0) return []
  const rows = recipients.map(({ kind, id }) => ({
    share_id: share.id,
    workspace_id: share.workspaceId,
    user_id: kind === 'USER' ? id : null,
    group_id: kind === 'GROUP' ? id : null,
  }))
  const inserted = await db
    .insertInto('share_recipients')
    .values(rows)
    .onConflict(each => each.doNothing())
    .returning(['user_id', 'group_id'])
    .execute()
  const ids = new Set(inserted.map(({ user_id, group_id }) => user_id ?? group_id))
  return recipients.filter(({ id }) => ids.has(id))
}

export interface RecipientChanges {
  added: readonly ShareRecipient[]
  removed: { userIds: readonly string[]; groupIds: readonly string[] }
}

/** The changes that were made, and all recipients after them. */
export interface ChangedRecipients extends RecipientChanges {
  recipients: ShareRecipient[]
}

/** Removes recipients and adds others. Call it in the transaction that locks the share. */
export async function changeRecipients(
  db: Change,
  share: { id: string; workspaceId: string },
  { added, removed }: RecipientChanges,
): Promise<ChangedRecipients> {
  const { rows: deleted } = await sql<{ user_id: string | null; group_id: string | null }>`
    delete from share_recipients where share_id = ${share.id}
    and (user_id = any(${removed.userIds}::uuid[]) or group_id = any(${removed.groupIds}::uuid[]))
    returning user_id, group_id`.execute(db)
  const inserted = await insertRecipients(db, share, added)
  const { recipients } = await db
    .selectFrom('shares')
    .select(recipientsOfShare.as('recipients'))
    .where('id', '=', share.id)
    .executeTakeFirstOrThrow()
  return {
    added: inserted,
    removed: {
      userIds: deleted.flatMap(({ user_id }) => user_id ?? []),
      groupIds: deleted.flatMap(({ group_id }) => group_id ?? []),
    },
    recipients: recipients ?? [],
  }
}

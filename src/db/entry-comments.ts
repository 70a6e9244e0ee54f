/** The comments on entries. Everybody who may read an entry can read them. */
import { sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Change, Database } from './client.ts'
import { isAtAny, restoredPath, storedPath } from './entry-paths.ts'
import { batched } from './lookups.ts'

/** Where a comment is. */
export interface CommentedAt {
  workspaceId: string
  providerId: string
  path: StoragePath
}

/** A member, as other members see them. */
export interface CommentPerson {
  id: string
  /** The name or, without one, the email. */
  name: string
}

export interface StoredComment {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** Null if the author is no longer a member. */
  author: CommentPerson | null
  /** Mentions are `@[<user id>]`. */
  text: string
  createdAt: Date
  /** Null for a comment that was never edited. */
  editedAt: Date | null
}

/** Selects comments. Their author is null for somebody who is no longer a member. */
function commentsWithAuthors(db: Database) {
  return db
    .selectFrom('entry_comments')
    .leftJoin('members', join =>
      join
        .onRef('members.workspace_id', '=', 'entry_comments.workspace_id')
        .onRef('members.user_id', '=', 'entry_comments.user_id'),
    )
    .leftJoin('users', 'users.id', 'members.user_id')
    .select(['entry_comments.id', 'entry_comments.text', 'entry_comments.created_at', 'entry_comments.edited_at'])
    .select(['users.id as author_id', sql<string | null>`coalesce(users.name, users.email)`.as('author_name')])
}

function selectComments(db: Database, { workspaceId, providerId, path }: CommentedAt) {
  return commentsWithAuthors(db)
    .where('entry_comments.workspace_id', '=', workspaceId)
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
}

function toComment(row: {
  id: string
  text: string
  created_at: Date
  edited_at: Date | null
  author_id: string | null
  author_name: string | null
}): StoredComment {
  const { author_id: id, author_name: name } = row
  return {
    id: row.id,
    author: id === null || name === null ? null : { id, name },
    text: row.text,
    createdAt: row.created_at,
    editedAt: row.edited_at,
  }
}

/** Lists the comments on an entry, the newest first. */
export async function listComments(
  db: Database,
  at: CommentedAt,
  { limit, before }: { limit: number; before: string | null },
): Promise<StoredComment[]> {
  const rows = await selectComments(db, at)
    .$if(before !== null, query => query.where('entry_comments.id', '<', before as string))
    .orderBy('entry_comments.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toComment)
}

/** Returns null if there is no comment with this id on the entry. */
export async function findComment(db: Database, at: CommentedAt, id: string): Promise<StoredComment | null> {
  const row = await selectComments(db, at).where('entry_comments.id', '=', id).executeTakeFirst()
  return row ? toComment(row) : null
}

/** A comment with everything that an email about it shows. */
export interface MailedComment {
  workspaceId: string
  providerId: string
  path: StoragePath
  isFolder: boolean
  providerName: string
  /** The name of the author; null for somebody who is no longer a member. */
  author: string | null
  text: string
  /** The tag of the language of the workspace. */
  workspaceLanguage: string | null
}

/** Finds a comment wherever its entry is. Returns null if it was deleted. */
export async function findMailedComment(db: Database, id: string): Promise<MailedComment | null> {
  const row = await commentsWithAuthors(db)
    .innerJoin('providers', 'providers.id', 'entry_comments.provider_id')
    .innerJoin('workspaces', 'workspaces.id', 'entry_comments.workspace_id')
    .select(['entry_comments.workspace_id', 'entry_comments.provider_id', 'path', 'is_folder'])
    .select(['providers.name as provider_name', 'workspaces.language'])
    .where('entry_comments.id', '=', id)
    .executeTakeFirst()
  if (!row) return null
  return {
    workspaceId: row.workspace_id,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    isFolder: row.is_folder,
    providerName: row.provider_name,
    author: row.author_name,
    text: row.text,
    workspaceLanguage: row.language,
  }
}

/** Returns a function that counts the comments on an entry. Lookups of one turn of the event loop share a query. */
export function batchedCommentCounts(db: Database): (at: Omit<CommentedAt, 'workspaceId'>) => Promise<number> {
  const load = batched(async (keys: readonly string[]) => {
    const wanted = keys.map(key => {
      const end = key.indexOf('/')
      return { providerId: key.slice(0, end), path: key.slice(end + 1) as StoragePath }
    })
    const rows = await db
      .selectFrom('entry_comments')
      .select(['provider_id', 'path', sql<number>`count(*)::integer`.as('count')])
      .where('provider_id', 'in', [...new Set(wanted.map(({ providerId }) => providerId))])
      .where(isAtAny([...new Set(wanted.map(({ path }) => storedPath(path)))]))
      .groupBy(['provider_id', 'path'])
      .execute()
    return new Map(rows.map(row => [`${row.provider_id}/${restoredPath(row.path)}`, row.count]))
  })
  return async ({ providerId, path }) => (await load(`${providerId}/${path}`)) ?? 0
}

/** Lets comments on an entry take turns until the end of the transaction, so that none exceeds a limit that each checks. */
export async function lockComments(db: Change, { providerId, path }: CommentedAt): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`comments ${providerId}/${path}`}, 0))`.execute(db)
}

/** Returns the number of comments on an entry, and of those of a member in the workspace. */
export async function countComments(
  db: Change,
  { workspaceId, providerId, path }: CommentedAt,
  userId: string,
): Promise<{ ofEntry: number; ofMember: number }> {
  const { rows } = await sql<{ ofEntry: number; ofMember: number }>`
    select (select count(*)::integer from entry_comments
        where provider_id = ${providerId} and ${isAtAny([storedPath(path)])}) as "ofEntry",
      (select count(*)::integer from entry_comments
        where user_id = ${userId} and workspace_id = ${workspaceId}) as "ofMember"`.execute(db)
  return rows[0] ?? { ofEntry: 0, ofMember: 0 }
}

/** Call it in the transaction that counts the comments, under `lockComments`. */
export async function insertComment(
  db: Change,
  { workspaceId, providerId, path }: CommentedAt,
  comment: { id: string; userId: string; isFolder: boolean; text: string },
): Promise<void> {
  await db
    .insertInto('entry_comments')
    .values({
      id: comment.id,
      workspace_id: workspaceId,
      provider_id: providerId,
      path: storedPath(path),
      is_folder: comment.isFolder,
      user_id: comment.userId,
      text: comment.text,
    })
    .execute()
}

/** Changes the text of a comment of a member. Returns false if they have none with this id on the entry. */
export async function updateComment(
  db: Change,
  { workspaceId, providerId, path }: CommentedAt,
  { id, userId, text }: { id: string; userId: string; text: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('entry_comments')
    .set({ text, edited_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns false if there is none with this id on the entry. */
export async function deleteComment(
  db: Change,
  { workspaceId, providerId, path }: CommentedAt,
  id: string,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('entry_comments')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Finds the members of a workspace with some ids. */
export async function findPeople(
  db: Database,
  workspaceId: string,
  userIds: readonly string[],
): Promise<CommentPerson[]> {
  if (userIds.length === 0) return []
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id', sql<string>`coalesce(users.name, users.email)`.as('name')])
    .where('members.workspace_id', '=', workspaceId)
    .where('members.user_id', 'in', userIds)
    .execute()
}

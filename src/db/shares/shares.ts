/** Shares as people see and change them. */
import { type SqlBool, sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import { creatorColumns } from '../creator.ts'
import { lockMember } from '../members.ts'
import { type ShareRecord, shareColumns, toShare } from './record.ts'

/** The settings that people can change. */
export type ShareSettings = Pick<
  ShareRecord,
  'passwordHash' | 'note' | 'expiresAt' | 'maxDownloads' | 'maxBytes' | 'fileTypes' | 'notify'
>

export type NewShare = Omit<ShareRecord, 'downloads' | 'receivedBytes' | 'createdAt' | 'revokedAt' | 'lastUsedAt'> & {
  tokenHash: Buffer
}

const isActive = sql<SqlBool>`revoked_at is null and (expires_at is null or expires_at > now())`

/** Returns null and inserts nothing if the member already has `max` shares that are neither revoked nor expired. */
export async function insertShare(db: Change, share: NewShare, max: number): Promise<ShareRecord | null> {
  await lockMember(db, share)
  const { count } = await db
    .selectFrom('shares')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', share.workspaceId)
    .where('user_id', '=', share.userId)
    .where(isActive)
    .executeTakeFirstOrThrow()
  if (Number(count) >= max) return null
  const row = await db
    .insertInto('shares')
    .values({
      id: share.id,
      ...creatorColumns(share),
      kind: share.kind,
      provider_id: share.providerId,
      paths: [...share.paths],
      is_folder: share.isFolder,
      token_hash: share.tokenHash,
      token: share.token,
      password_hash: share.passwordHash,
      note: share.note,
      expires_at: share.expiresAt,
      max_downloads: share.maxDownloads,
      max_bytes: share.maxBytes,
      file_types: share.fileTypes,
      notify: share.notify,
    })
    .returning(shareColumns)
    .executeTakeFirstOrThrow()
  return toShare(row)
}

export async function findShare(db: Database, workspaceId: string, id: string): Promise<ShareRecord | null> {
  const row = await db
    .selectFrom('shares')
    .select(shareColumns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ? toShare(row) : null
}

/** Returns the newest shares first. @param of.userId null for the shares of everybody */
export async function listShares(
  db: Database,
  of: { workspaceId: string; userId: string | null; includeInactive: boolean },
  page: { limit: number; before: string | null },
): Promise<ShareRecord[]> {
  let query = db.selectFrom('shares').select(shareColumns).where('workspace_id', '=', of.workspaceId)
  if (of.userId !== null) query = query.where('user_id', '=', of.userId)
  if (!of.includeInactive) query = query.where(isActive)
  if (page.before !== null) query = query.where('id', '<', page.before)
  const rows = await query.orderBy('id', 'desc').limit(page.limit).execute()
  return rows.map(toShare)
}

/** Changes the given settings of a share that is not revoked. Returns null if there is none. */
export async function updateShare(
  db: Change,
  id: string,
  changes: Partial<ShareSettings>,
): Promise<ShareRecord | null> {
  const row = await db
    .updateTable('shares')
    .set({
      // A statement without any column is not valid.
      id,
      // A column that is undefined keeps its value.
      password_hash: changes.passwordHash,
      note: changes.note,
      expires_at: changes.expiresAt,
      max_downloads: changes.maxDownloads,
      max_bytes: changes.maxBytes,
      file_types: changes.fileTypes,
      notify: changes.notify,
    })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(shareColumns)
    .executeTakeFirst()
  return row ? toShare(row) : null
}

/** Revokes a share permanently. A revoked share keeps its time of revocation. Returns null if it does not exist. */
export async function revokeShare(db: Change, id: string): Promise<ShareRecord | null> {
  const row = await db
    .updateTable('shares')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('id', '=', id)
    .returning(shareColumns)
    .executeTakeFirst()
  return row ? toShare(row) : null
}

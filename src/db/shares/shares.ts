/**
 * The tables of shares. Shares, the uploads and downloads that count against their limits (`claims.ts`), and emails (`emails.ts`)
 * enter. Shares leave to their creators, and credentials leave to those who open a link.
 *
 * This file has shares as people see and change them, and as credentials.
 */
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import { type ProviderAccess, restoreAccess } from '../../auth/access.ts'
import type { StoragePath } from '../../auth/path.ts'
import type { Scope } from '../../auth/scopes.ts'
import type { Member, SeenProvider, Shared, ShareRecipient } from '../../auth/viewer.ts'
import type { Change, Database } from '../client.ts'
import { type Creator, creatorColumns, toCreator } from '../creator.ts'
import { prepareLookups, seenProviderColumns, toSeenProvider } from '../lookups.ts'
import { lockMember, memberColumns, toMember } from '../members.ts'
import { type RightsVersion, toVersion, versionColumns } from '../rights.ts'
import type { Schema } from '../schema.ts'
import { insertRecipients, recipientsOfShare } from './recipients.ts'

/** A share, and who made it with which credential. */
export interface ShareRecord extends Creator, Shared {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** Whether the share consists of one folder, whose content is at the top of what its link shows. */
  isFolder: boolean
  /** The sealed token. */
  token: Buffer
  /** argon2id in PHC string format; null if the link needs no password. */
  passwordHash: string | null
  /** For the recipients; may be empty. */
  note: string
  expiresAt: Date | null
  /** Null is no limit. */
  maxDownloads: number | null
  downloads: number
  /** Bytes of all files that a drop link accepts together; null is no limit. */
  maxBytes: number | null
  /** Bytes of the files that came through a drop link, and of those that are under way. */
  receivedBytes: number
  /** The endings of names that a drop link accepts, in lower case and without a dot; empty accepts all. */
  fileTypes: string[]
  /** Whether the creator gets emails about files that arrive through a drop link. */
  notify: boolean
  createdAt: Date
  revokedAt: Date | null
  lastUsedAt: Date | null
}

export const shareColumns = [
  'shares.id',
  'shares.workspace_id',
  'shares.user_id',
  'shares.credential_kind',
  'shares.credential_id',
  'shares.kind',
  'shares.provider_id',
  'shares.paths',
  'shares.is_folder',
  'shares.token',
  'shares.password_hash',
  'shares.note',
  'shares.expires_at',
  'shares.max_downloads',
  'shares.downloads',
  'shares.max_bytes',
  'shares.received_bytes',
  'shares.file_types',
  'shares.notify',
  'shares.created_at',
  'shares.revoked_at',
  'shares.last_used_at',
  recipientsOfShare.as('recipients'),
] as const

type ShareRow = Omit<Selectable<Schema['shares']>, 'token_hash' | 'is_for_members'> & {
  recipients: ShareRecipient[] | null
}

export function toShare(row: ShareRow): ShareRecord {
  return {
    id: row.id,
    ...toCreator(row),
    kind: row.kind,
    providerId: row.provider_id,
    paths: row.paths as StoragePath[],
    isFolder: row.is_folder,
    token: row.token,
    passwordHash: row.password_hash,
    note: row.note,
    expiresAt: row.expires_at,
    maxDownloads: row.max_downloads,
    downloads: Number(row.downloads),
    maxBytes: row.max_bytes === null ? null : Number(row.max_bytes),
    receivedBytes: Number(row.received_bytes),
    fileTypes: row.file_types,
    notify: row.notify,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    recipients: row.recipients,
  }
}

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
      is_for_members: share.recipients !== null,
    })
    .returning(shareColumns)
    .executeTakeFirstOrThrow()
  if (share.recipients) await insertRecipients(db, share, share.recipients)
  // The statement has returned the share without its recipients.
  return { ...toShare(row), recipients: share.recipients }
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

/**
 * Returns the newest shares first.
 * @param of.userId null for the shares of everybody
 * @param of.providerId null for those of all providers
 * @param of.path a shared entry; null for all
 */
export async function listShares(
  db: Database,
  of: {
    workspaceId: string
    userId: string | null
    includeInactive: boolean
    providerId: string | null
    path: StoragePath | null
  },
  page: { limit: number; before: string | null },
): Promise<ShareRecord[]> {
  let query = db.selectFrom('shares').select(shareColumns).where('workspace_id', '=', of.workspaceId)
  if (of.userId !== null) query = query.where('user_id', '=', of.userId)
  if (!of.includeInactive) query = query.where(isActive)
  if (of.providerId !== null) query = query.where('provider_id', '=', of.providerId)
  if (of.path !== null) query = query.where(sql<SqlBool>`${of.path} = any(paths)`)
  if (page.before !== null) query = query.where('id', '<', page.before)
  const rows = await query.orderBy('id', 'desc').limit(page.limit).execute()
  return rows.map(toShare)
}

/** Returns the active shares that others have made for a member or one of their groups, the newest first. */
export async function listReceivedShares(
  db: Database,
  { workspaceId, userId, groups }: Pick<Member, 'workspaceId' | 'userId' | 'groups'>,
  page: { limit: number; before: string | null },
): Promise<ShareRecord[]> {
  const groupIds = groups.map(({ id }) => id)
  const isReceived = sql<SqlBool>`id in (
    select share_id from share_recipients
    where workspace_id = ${workspaceId} and (user_id = ${userId} or group_id = any(${groupIds}::uuid[])))`
  let query = db
    .selectFrom('shares')
    .select(shareColumns)
    .where(isReceived)
    .where('user_id', '!=', userId)
    .where(isActive)
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

// Shares as credentials: each with its creator, and with the API key that created it.

export interface OwnedShare {
  share: ShareRecord
  tokenHash: Buffer
  creator: Member
  /** The rights of the API key that made the share; null if a session made it, or if the key was revoked. */
  key: { scopes: Scope[]; access: ProviderAccess; expiresAt: Date | null } | null
  /** The provider of the share. */
  seenProvider: SeenProvider | null
  version: RightsVersion
}

/** Finds shares with their creators. The query is built only once, because every request with a share link runs it. */
export function prepareOwnedShares<Column extends 'token_hash' | 'id'>(
  db: Database,
  column: Column,
): (values: readonly (Column extends 'id' ? string : Buffer)[]) => Promise<OwnedShare[]> {
  const find = prepareLookups(db, [column === 'id' ? 'uuid' : 'bytea'], (asked: RawBuilder<{ value: unknown }>) =>
    db
      .selectFrom(asked.as<'asked'>(sql`asked (value)`))
      .innerJoin('shares', join => join.on(sql<boolean>`${sql.ref(`shares.${column}`)} = asked.value`))
      .innerJoin('members', join =>
        join.onRef('members.workspace_id', '=', 'shares.workspace_id').onRef('members.user_id', '=', 'shares.user_id'),
      )
      .innerJoin('users', 'users.id', 'shares.user_id')
      .leftJoin('api_keys', join =>
        join
          .onRef('api_keys.id', '=', 'shares.credential_id')
          .on('shares.credential_kind', '=', sql.lit('API_KEY'))
          .on('api_keys.revoked_at', 'is', null),
      )
      .innerJoin('providers', 'providers.id', 'shares.provider_id')
      .innerJoin('rights_counter', join => join.onTrue())
      .select(versionColumns)
      .select(shareColumns)
      .select('shares.token_hash')
      .select(memberColumns)
      .select([
        'api_keys.scopes as key_scopes',
        'api_keys.provider_access as key_access',
        'api_keys.expires_at as key_expires_at',
      ])
      .select(seenProviderColumns)
      .compile(),
  )
  return async values => {
    const rows = await find(values.map((value): [unknown] => [value]))
    return rows.map(row => ({
      share: toShare(row),
      tokenHash: row.token_hash,
      creator: toMember(row),
      key: row.key_scopes &&
        row.key_access && {
          scopes: row.key_scopes,
          access: restoreAccess(row.key_access),
          expiresAt: row.key_expires_at,
        },
      seenProvider: toSeenProvider(row),
      version: toVersion(row),
    }))
  }
}

/** Queries about the directories that use SCIM, and their tokens. */
import { type Selectable, sql } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface ScimDirectory {
  id: string
  name: string
  /** The issuer of single sign-on at which the external id of a user is their subject; null if it is none. */
  issuer: string | null
  createdAt: Date
}

export interface ScimToken {
  id: string
  workspaceId: string
  directory: ScimDirectory
  name: string
  displayPrefix: string
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

/** The name of a directory as the source of the memberships and deactivations that it makes. */
export function scimSource({ id }: Pick<ScimDirectory, 'id'>): string {
  return `scim:${id}`
}

const tokenColumns = [
  'scim_tokens.id',
  'scim_tokens.workspace_id',
  'scim_tokens.name',
  'scim_tokens.display_prefix',
  'scim_tokens.created_at',
  'scim_tokens.last_used_at',
  'scim_tokens.revoked_at',
  'scim_directories.id as directory_id',
  'scim_directories.name as directory_name',
  'scim_directories.issuer',
  'scim_directories.created_at as directory_created_at',
] as const

function tokensOf(db: Database) {
  return db
    .selectFrom('scim_tokens')
    .innerJoin('scim_directories', 'scim_directories.id', 'scim_tokens.directory_id')
    .select(tokenColumns)
}

type TokenRow = Awaited<ReturnType<ReturnType<typeof tokensOf>['executeTakeFirstOrThrow']>>

function toToken(row: TokenRow): ScimToken {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    directory: {
      id: row.directory_id,
      name: row.directory_name,
      issuer: row.issuer,
      createdAt: row.directory_created_at,
    },
    name: row.name,
    displayPrefix: row.display_prefix,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}

function toDirectory(row: Selectable<Schema['scim_directories']>): ScimDirectory {
  return { id: row.id, name: row.name, issuer: row.issuer, createdAt: row.created_at }
}

export async function insertScimDirectory(
  db: Change,
  values: { workspaceId: string; name: string; issuer: string | null },
): Promise<ScimDirectory> {
  const row = await db
    .insertInto('scim_directories')
    .values({ workspace_id: values.workspaceId, name: values.name, issuer: values.issuer })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toDirectory(row)
}

export async function findScimDirectory(db: Database, workspaceId: string, id: string): Promise<ScimDirectory | null> {
  const query = db.selectFrom('scim_directories').selectAll().where('workspace_id', '=', workspaceId)
  const row = await query.where('id', '=', id).executeTakeFirst()
  return row ? toDirectory(row) : null
}

/** Returns the directories, the oldest first. */
export async function listScimDirectories(db: Database, workspaceId: string): Promise<ScimDirectory[]> {
  const query = db.selectFrom('scim_directories').selectAll().where('workspace_id', '=', workspaceId)
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toDirectory)
}

/** Deletes directories without a valid token, users and groups, and their revoked tokens. */
export async function deleteUnusedScimDirectories(db: Change, workspaceId: string): Promise<void> {
  await sql`
    delete from scim_directories where workspace_id = ${workspaceId}
      and not exists (select from scim_tokens where directory_id = scim_directories.id and revoked_at is null)
      and not exists (select from scim_users where directory_id = scim_directories.id)
      and not exists (select from groups where scim_directory_id = scim_directories.id)`.execute(db)
}

export async function insertScimToken(
  db: Change,
  values: Pick<ScimToken, 'workspaceId' | 'directory' | 'name' | 'displayPrefix'> & { hash: Buffer; createdBy: string },
): Promise<ScimToken> {
  const { directory } = values
  const row = await db
    .insertInto('scim_tokens')
    .values({
      workspace_id: values.workspaceId,
      directory_id: directory.id,
      name: values.name,
      token_hash: values.hash,
      display_prefix: values.displayPrefix,
      created_by: values.createdBy,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toToken({
    ...row,
    directory_name: directory.name,
    issuer: directory.issuer,
    directory_created_at: directory.createdAt,
  })
}

/** Returns the tokens that are not revoked, the newest first. */
export async function listScimTokens(db: Database, workspaceId: string): Promise<ScimToken[]> {
  const rows = await tokensOf(db)
    .where('scim_tokens.workspace_id', '=', workspaceId)
    .where('scim_tokens.revoked_at', 'is', null)
    .orderBy('scim_tokens.created_at', 'desc')
    .orderBy('scim_tokens.id')
    .execute()
  return rows.map(toToken)
}

export async function findScimToken(db: Database, hash: Buffer): Promise<ScimToken | null> {
  const row = await tokensOf(db).where('scim_tokens.token_hash', '=', hash).executeTakeFirst()
  return row ? toToken(row) : null
}

/** Locks a token until the end of the transaction, so that it cannot be revoked meanwhile. Returns false if it is revoked. */
export async function lockScimToken(db: Change, id: string): Promise<boolean> {
  const query = db.selectFrom('scim_tokens').select('id').where('id', '=', id).where('revoked_at', 'is', null)
  return (await query.forShare().executeTakeFirst()) !== undefined
}

/** Returns null if there is no such token, or it is revoked already. */
export async function revokeScimToken(
  db: Change,
  workspaceId: string,
  id: string,
): Promise<Pick<ScimToken, 'name' | 'displayPrefix'> | null> {
  const row = await db
    .updateTable('scim_tokens')
    .set({ revoked_at: new Date() })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(['name', 'display_prefix'])
    .executeTakeFirst()
  return row ? { name: row.name, displayPrefix: row.display_prefix } : null
}

export async function touchScimToken(db: Database, id: string): Promise<void> {
  await db.updateTable('scim_tokens').set({ last_used_at: new Date() }).where('id', '=', id).execute()
}

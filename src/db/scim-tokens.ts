/** Queries about the tokens of directories that use SCIM. */
import type { Selectable } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface ScimToken {
  id: string
  workspaceId: string
  name: string
  displayPrefix: string
  /** The issuer of single sign-on at which the external id of a user is their subject; null if it is none. */
  issuer: string | null
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

function toToken(row: Selectable<Schema['scim_tokens']>): ScimToken {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    displayPrefix: row.display_prefix,
    issuer: row.issuer,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}

export async function insertScimToken(
  db: Change,
  values: Pick<ScimToken, 'workspaceId' | 'name' | 'displayPrefix' | 'issuer'> & { hash: Buffer; createdBy: string },
): Promise<ScimToken> {
  const row = await db
    .insertInto('scim_tokens')
    .values({
      workspace_id: values.workspaceId,
      name: values.name,
      token_hash: values.hash,
      display_prefix: values.displayPrefix,
      issuer: values.issuer,
      created_by: values.createdBy,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toToken(row)
}

/** Returns the tokens that are not revoked, the newest first. */
export async function listScimTokens(db: Database, workspaceId: string): Promise<ScimToken[]> {
  const rows = await db
    .selectFrom('scim_tokens')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('revoked_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toToken)
}

export async function findScimToken(db: Database, hash: Buffer): Promise<ScimToken | null> {
  const row = await db.selectFrom('scim_tokens').selectAll().where('token_hash', '=', hash).executeTakeFirst()
  return row ? toToken(row) : null
}

/** Locks a token until the end of the transaction, so that it cannot be revoked meanwhile. Returns false if it is revoked. */
export async function lockScimToken(db: Change, id: string): Promise<boolean> {
  const query = db.selectFrom('scim_tokens').select('id').where('id', '=', id).where('revoked_at', 'is', null)
  return (await query.forShare().executeTakeFirst()) !== undefined
}

/** Returns null if there is no such token, or it is revoked already. */
export async function revokeScimToken(db: Change, workspaceId: string, id: string): Promise<ScimToken | null> {
  const row = await db
    .updateTable('scim_tokens')
    .set({ revoked_at: new Date() })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ? toToken(row) : null
}

export async function touchScimToken(db: Database, id: string): Promise<void> {
  await db.updateTable('scim_tokens').set({ last_used_at: new Date() }).where('id', '=', id).execute()
}

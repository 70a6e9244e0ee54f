import { type ProviderAccess, restoreAccess, storeAccess } from '../auth/access.ts'
import type { Role } from '../auth/scopes.ts'
import type { Change } from './client.ts'

export interface Invite {
  id: string
  workspaceId: string
  role: Role
  access: ProviderAccess
  /** Null where that person is a member no more. */
  createdBy: string | null
  /** Null where a session made it. */
  apiKeyId: string | null
}

export async function insertInvite(
  db: Change,
  values: {
    workspaceId: string
    tokenHash: Buffer
    role: Role
    access: ProviderAccess
    createdBy: string
    apiKeyId: string | null
    expiresAt: Date
  },
): Promise<string> {
  const { id } = await db
    .insertInto('invites')
    .values({
      workspace_id: values.workspaceId,
      token_hash: values.tokenHash,
      role: values.role,
      provider_access: JSON.stringify(storeAccess(values.access)),
      created_by: values.createdBy,
      api_key_id: values.apiKeyId,
      expires_at: values.expiresAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Marks it used; null where it is unknown, expired or used already. */
export async function redeemInvite(db: Change, tokenHash: Buffer): Promise<Invite | null> {
  const now = new Date()
  const row = await db
    .updateTable('invites')
    .set({ used_at: now })
    .where('token_hash', '=', tokenHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning(['id', 'workspace_id', 'role', 'provider_access', 'created_by', 'api_key_id'])
    .executeTakeFirst()
  if (!row) return null
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    role: row.role,
    access: restoreAccess(row.provider_access),
    createdBy: row.created_by,
    apiKeyId: row.api_key_id,
  }
}

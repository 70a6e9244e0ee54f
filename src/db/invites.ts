import type { Selectable } from 'kysely'
import { type ProviderAccess, restoreAccess, storeAccess } from '../auth/access.ts'
import type { Role } from '../auth/scopes.ts'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface Invite {
  id: string
  workspaceId: string
  role: Role
  access: ProviderAccess
  /** Null if that person is no longer a member. */
  createdBy: string | null
  /** Null if it was created with a session. */
  apiKeyId: string | null
  createdAt: Date
  expiresAt: Date
  /** For whom the invite is, in the words of the person who created it. */
  note: string | null
}

const inviteColumns = [
  'id',
  'workspace_id',
  'role',
  'provider_access',
  'created_by',
  'api_key_id',
  'created_at',
  'expires_at',
  'note',
] as const

function toInvite(row: Pick<Selectable<Schema['invites']>, (typeof inviteColumns)[number]>): Invite {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    role: row.role,
    access: restoreAccess(row.provider_access),
    createdBy: row.created_by,
    apiKeyId: row.api_key_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    note: row.note,
  }
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
    note: string | null
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
      note: values.note,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Marks an invite as used. Returns null if it is unknown, expired or already used. */
export async function redeemInvite(db: Change, tokenHash: Buffer): Promise<Invite | null> {
  const now = new Date()
  const row = await db
    .updateTable('invites')
    .set({ used_at: now })
    .where('token_hash', '=', tokenHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning(inviteColumns)
    .executeTakeFirst()
  return row ? toInvite(row) : null
}

/** Returns open invites with these roles, the newest first. */
export async function listOpenInvites(
  db: Database,
  workspaceId: string,
  { roles, limit }: { roles: readonly Role[]; limit: number },
): Promise<Invite[]> {
  const rows = await db
    .selectFrom('invites')
    .select(inviteColumns)
    .where('workspace_id', '=', workspaceId)
    .where('used_at', 'is', null)
    .where('expires_at', '>', new Date())
    .where('role', 'in', roles)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toInvite)
}

/** Locks an invite until the end of the transaction. Returns null if it is unknown, expired or already used. */
export async function lockOpenInvite(db: Change, workspaceId: string, id: string): Promise<Invite | null> {
  const row = await db
    .selectFrom('invites')
    .select(inviteColumns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .where('expires_at', '>', new Date())
    .forUpdate()
    .executeTakeFirst()
  return row ? toInvite(row) : null
}

export async function deleteInvite(db: Change, id: string): Promise<void> {
  await db.deleteFrom('invites').where('id', '=', id).execute()
}

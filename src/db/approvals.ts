/** Calls of agents that wait for a person. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { CredentialKind } from '../auth/viewer.ts'
import { secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { lockMember } from './members.ts'
import type { ApprovalDetails, ApprovalKind, ApprovalState, Schema } from './schema.ts'

/** The channel of notifications. Their payload is the id of the workspace. */
export const approvalChannel = 'approvals'

export interface ApprovalRecord {
  id: string
  workspaceId: string
  userId: string
  credentialKind: CredentialKind
  credentialId: string
  /** The name of the API key; null for a session. */
  credentialName: string | null
  kind: ApprovalKind
  tool: string
  providerId: string
  /** Absolute within the provider. */
  path: string
  details: ApprovalDetails
  state: ApprovalState
  createdAt: Date
  expiresAt: Date
}

export type NewApproval = Pick<
  ApprovalRecord,
  | 'id'
  | 'workspaceId'
  | 'userId'
  | 'credentialKind'
  | 'credentialId'
  | 'kind'
  | 'tool'
  | 'providerId'
  | 'path'
  | 'details'
> & { callHash: Buffer /** Seconds. */; lifetime: number }

const isOpen = sql<SqlBool>`approvals.expires_at > now() and approvals.state <> 'DONE'`

function selectApprovals(db: Database) {
  return db
    .selectFrom('approvals')
    .leftJoin('api_keys', 'api_keys.id', 'approvals.credential_id')
    .selectAll('approvals')
    .select('api_keys.name as credential_name')
}

function toApproval(row: Selectable<Schema['approvals']> & { credential_name: string | null }): ApprovalRecord {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    credentialKind: row.credential_kind,
    credentialId: row.credential_id,
    credentialName: row.credential_name,
    kind: row.kind,
    tool: row.tool,
    providerId: row.provider_id,
    path: row.path,
    details: row.details,
    state: row.state,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

/** Finds what a person has decided about a call of a credential, or has not yet. */
export async function findApprovalOf(
  db: Database,
  { credentialId, callHash }: Pick<NewApproval, 'credentialId' | 'callHash'>,
): Promise<ApprovalRecord | null> {
  const query = selectApprovals(db).where('credential_id', '=', credentialId).where('call_hash', '=', callHash)
  const row = await query.where(isOpen).executeTakeFirst()
  return row ? toApproval(row) : null
}

/**
 * Inserts an approval. Replaces an expired one of the same call.
 * @returns false if the member has `max` pending ones
 */
export async function insertApproval(db: Change, approval: NewApproval, max: number): Promise<boolean> {
  await lockMember(db, approval)
  const { credentialId, callHash } = approval
  await db
    .deleteFrom('approvals')
    .where('credential_id', '=', credentialId)
    .where('call_hash', '=', callHash)
    .where(sql<SqlBool>`expires_at <= now()`)
    .execute()
  const { count } = await db
    .selectFrom('approvals')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', approval.workspaceId)
    .where('user_id', '=', approval.userId)
    .where('state', '=', 'PENDING')
    .where(isOpen)
    .executeTakeFirstOrThrow()
  if (Number(count) >= max) return false
  await db
    .insertInto('approvals')
    .values({
      id: approval.id,
      workspace_id: approval.workspaceId,
      user_id: approval.userId,
      credential_kind: approval.credentialKind,
      credential_id: credentialId,
      kind: approval.kind,
      tool: approval.tool,
      call_hash: callHash,
      provider_id: approval.providerId,
      path: approval.path,
      details: JSON.stringify(approval.details),
      expires_at: secondsFromNow(approval.lifetime),
    })
    // The same call waits on another connection.
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return true
}

/** Finds approvals by their ids, whatever has become of them. */
export async function findApprovals(db: Database, ids: readonly string[]): Promise<ApprovalRecord[]> {
  if (ids.length === 0) return []
  return (await selectApprovals(db).where('approvals.id', 'in', ids).execute()).map(toApproval)
}

/** Lists pending approvals, the oldest first: those of a member, and with `ofServices` those of service accounts. */
export async function listPendingApprovals(
  db: Database,
  {
    workspaceId,
    userId,
    ofServices,
    limit,
  }: { workspaceId: string; userId: string; ofServices: boolean; limit: number },
): Promise<ApprovalRecord[]> {
  const rows = await selectApprovals(db)
    .innerJoin('users', 'users.id', 'approvals.user_id')
    .where('approvals.workspace_id', '=', workspaceId)
    .where('approvals.state', '=', 'PENDING')
    .where(isOpen)
    .where(({ eb, or }) =>
      or([eb('approvals.user_id', '=', userId), ...(ofServices ? [eb('users.is_service', '=', true)] : [])]),
    )
    .orderBy('approvals.created_at')
    .orderBy('approvals.id')
    .limit(limit)
    .execute()
  return rows.map(toApproval)
}

/** Decides about a pending approval. Returns false if it is not pending any more. @param lifetime seconds for which the decision counts */
export async function decideApproval(
  db: Change,
  { id, state, userId, lifetime }: { id: string; state: 'APPROVED' | 'REFUSED'; userId: string; lifetime: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('approvals')
    .set({ state, decided_by: userId, expires_at: secondsFromNow(lifetime) })
    .where('id', '=', id)
    .where('state', '=', 'PENDING')
    .where(sql<SqlBool>`expires_at > now()`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Uses an approval up, so that it permits one call. Returns false if there is none any more. */
export async function useApproval(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('approvals')
    .set({ state: 'DONE' })
    .where('id', '=', id)
    .where('state', '=', 'APPROVED')
    .where(sql<SqlBool>`expires_at > now()`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deleteOldApprovals(db: Database): Promise<void> {
  await db.deleteFrom('approvals').where(sql<SqlBool>`expires_at < now() - interval '1 day'`).execute()
}

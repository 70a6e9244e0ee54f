/** Queries about the OpenID Connect issuers of a workspace. */
import { type Selectable, sql } from 'kysely'
import type { Change, Database } from './client.ts'
import type { IssuerPrompt, Schema } from './schema.ts'
import { revokeIssuedSessions } from './sessions.ts'

export interface IssuerRecord {
  id: string
  workspaceId: string
  /** Unique in the workspace. */
  name: string
  /** The address, exactly as the metadata of the issuer name it. Unique in the workspace, and never changed. */
  issuer: string
  clientId: string
  /** The sealed secret of the client. */
  secret: Buffer
  /** The claim with the names of groups; null if groups do not follow the issuer. */
  groupsClaim: string | null
  /** A person whose verified email is in one of these domains gets an account at their first sign-in. */
  domains: string[]
  /** The ids of the groups that such an account joins. Groups that were deleted since are among them. */
  groupIds: string[]
  prompt: IssuerPrompt
  /** Minutes after which the issuer has to ask again who somebody is; 0 for no limit. */
  maxAgeMinutes: number
  isEnabled: boolean
  /** Increases with each change. */
  version: number
  createdAt: Date
}

export type NewIssuer = Omit<IssuerRecord, 'version' | 'createdAt'>
export type IssuerChanges = Partial<Omit<NewIssuer, 'id' | 'workspaceId' | 'issuer'>>

/** @throws a unique violation if the name or the issuer is taken */
export async function insertIssuer(db: Change, values: NewIssuer): Promise<IssuerRecord> {
  const row = await db
    .insertInto('issuers')
    .values({
      id: values.id,
      workspace_id: values.workspaceId,
      name: values.name,
      issuer: values.issuer,
      client_id: values.clientId,
      secret: values.secret,
      groups_claim: values.groupsClaim,
      domains: values.domains,
      group_ids: values.groupIds,
      prompt: values.prompt,
      max_age_minutes: values.maxAgeMinutes,
      is_enabled: values.isEnabled,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toIssuer(row)
}

/** @throws a unique violation if the name is taken */
export async function updateIssuer(db: Change, id: string, changes: IssuerChanges): Promise<IssuerRecord> {
  const row = await db
    .updateTable('issuers')
    .set({ ...columnsOf(changes), version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return toIssuer(row)
}

/**
 * Deletes an issuer and, if no other one has its address, its identities, the memberships that it has named, and the sessions that
 * began with it. Directories that use SCIM no longer create identities of this issuer.
 */
export async function deleteIssuer(db: Change, record: IssuerRecord, isOnlyOne: boolean): Promise<void> {
  const { id, workspaceId, issuer } = record
  await db.deleteFrom('issuers').where('id', '=', id).execute()
  if (!isOnlyOne) return
  await revokeIssuedSessions(db, { issuer, subject: null, issuerSession: null })
  await db.deleteFrom('identities').where('workspace_id', '=', workspaceId).where('issuer', '=', issuer).execute()
  await db.deleteFrom('group_members').where('workspace_id', '=', workspaceId).where('issued_by', '=', issuer).execute()
  const directories = db.updateTable('scim_directories').set({ issuer: null }).where('workspace_id', '=', workspaceId)
  await directories.where('issuer', '=', issuer).execute()
}

export async function findIssuer(db: Database, workspaceId: string, id: string): Promise<IssuerRecord | null> {
  const query = db.selectFrom('issuers').selectAll().where('workspace_id', '=', workspaceId).where('id', '=', id)
  const row = await query.executeTakeFirst()
  return row ? toIssuer(row) : null
}

/** Returns the issuers in the order of their names. */
export async function listIssuers(db: Database, workspaceId: string): Promise<IssuerRecord[]> {
  const rows = await db
    .selectFrom('issuers')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('name')
    .execute()
  return rows.map(toIssuer)
}

/** Returns the issuers with which people sign in to this installation, in the order of their names. */
export async function listEnabledIssuers(db: Database): Promise<IssuerRecord[]> {
  const rows = await db.selectFrom('issuers').selectAll().where('is_enabled', '=', true).orderBy('name').execute()
  return rows.map(toIssuer)
}

/** Keeps an issuer as it is until the end of the transaction. Returns false if it was disabled or changed. */
export async function keepEnabled(db: Database, id: string, version: number): Promise<boolean> {
  const query = db.selectFrom('issuers').select('id').where('id', '=', id).where('is_enabled', '=', true)
  return (await query.where('version', '=', version).forShare().executeTakeFirst()) !== undefined
}

function columnsOf(changes: IssuerChanges) {
  const { name, clientId, secret, groupsClaim, domains, groupIds, prompt, maxAgeMinutes, isEnabled } = changes
  return {
    ...(name !== undefined && { name }),
    ...(clientId !== undefined && { client_id: clientId }),
    ...(secret !== undefined && { secret }),
    ...(groupsClaim !== undefined && { groups_claim: groupsClaim }),
    ...(domains !== undefined && { domains }),
    ...(groupIds !== undefined && { group_ids: groupIds }),
    ...(prompt !== undefined && { prompt }),
    ...(maxAgeMinutes !== undefined && { max_age_minutes: maxAgeMinutes }),
    ...(isEnabled !== undefined && { is_enabled: isEnabled }),
  }
}

function toIssuer(row: Selectable<Schema['issuers']>): IssuerRecord {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    issuer: row.issuer,
    clientId: row.client_id,
    secret: row.secret,
    groupsClaim: row.groups_claim,
    domains: row.domains,
    groupIds: row.group_ids,
    prompt: row.prompt,
    maxAgeMinutes: row.max_age_minutes,
    isEnabled: row.is_enabled,
    version: row.version,
    createdAt: row.created_at,
  }
}

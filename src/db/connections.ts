/** Connections of applications: API keys with a code and a refresh token. */
import { type Selectable, sql } from 'kysely'
import type { Audience } from '../auth/access-tokens.ts'
import type { Scope } from '../auth/scopes.ts'
import type { Member } from '../auth/viewer.ts'
import { secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { batched } from './lookups.ts'
import { changeRights } from './rights.ts'
import type { Schema } from './schema.ts'

export interface ConnectionRecord {
  keyId: string
  clientId: string
  clientName: string
  redirectUri: string
  audience: Audience
  codeChallenge: string
  codeExpiresAt: Date
  /** The hash of the present refresh token; null until the code is used. */
  refreshHash: Buffer | null
  scopes: Scope[]
  /** Null for a connection without an end. */
  expiresAt: Date | null
  revokedAt: Date | null
  /** The member, who may be deactivated. */
  owner: Pick<Member, 'userId' | 'workspaceId' | 'email' | 'name'>
}

type ConnectionRow = Omit<Selectable<Schema['connections']>, 'code_hash'> &
  Pick<Selectable<Schema['api_keys']>, 'scopes' | 'expires_at' | 'revoked_at' | 'workspace_id' | 'user_id'> &
  Pick<Selectable<Schema['users']>, 'email'> & { user_name: string | null }

const connectionColumns = [
  'connections.key_id',
  'connections.client_id',
  'connections.client_name',
  'connections.redirect_uri',
  'connections.audience',
  'connections.code_challenge',
  'connections.code_expires_at',
  'connections.refresh_hash',
  'api_keys.scopes',
  'api_keys.expires_at',
  'api_keys.revoked_at',
  'api_keys.workspace_id',
  'api_keys.user_id',
  'users.email',
  'users.name as user_name',
] as const

function toConnection(row: ConnectionRow): ConnectionRecord {
  return {
    keyId: row.key_id,
    clientId: row.client_id,
    clientName: row.client_name,
    redirectUri: row.redirect_uri,
    audience: row.audience,
    codeChallenge: row.code_challenge,
    codeExpiresAt: row.code_expires_at,
    refreshHash: row.refresh_hash,
    scopes: row.scopes,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    owner: { workspaceId: row.workspace_id, userId: row.user_id, email: row.email, name: row.user_name },
  }
}

/** @param values.codeLifetime seconds */
export async function insertConnection(
  db: Change,
  values: Pick<ConnectionRecord, 'keyId' | 'clientId' | 'clientName' | 'redirectUri' | 'audience' | 'codeChallenge'> & {
    codeHash: Buffer
    codeLifetime: number
  },
): Promise<void> {
  await db
    .insertInto('connections')
    .values({
      key_id: values.keyId,
      client_id: values.clientId,
      client_name: values.clientName,
      redirect_uri: values.redirectUri,
      audience: values.audience,
      code_hash: values.codeHash,
      code_challenge: values.codeChallenge,
      code_expires_at: secondsFromNow(values.codeLifetime),
    })
    .execute()
}

/** Finds a connection by its id, or by the hash of its code or of its present refresh token. */
export async function findConnection(
  db: Database,
  column: 'key_id' | 'code_hash' | 'refresh_hash',
  value: string | Buffer,
): Promise<ConnectionRecord | null> {
  const isSame = sql<boolean>`${sql.ref(`connections.${column}`)} = ${value}`
  const row = await selectConnections(db).where(isSame).executeTakeFirst()
  return row ? toConnection(row) : null
}

/** Finds connections by their ids, those of one turn of the event loop in one query. */
export function batchedConnections(db: Database): (keyId: string) => Promise<ConnectionRecord | null> {
  return batched(async (ids: readonly string[]) => {
    const rows = await selectConnections(db).where('connections.key_id', 'in', ids).execute()
    return new Map(rows.map(row => [row.key_id, toConnection(row)]))
  })
}

function selectConnections(db: Database) {
  return db
    .selectFrom('connections')
    .innerJoin('api_keys', 'api_keys.id', 'connections.key_id')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select(connectionColumns)
}

/** Uses the code of a connection up. Returns false if it was used or has expired. */
export async function useCode(db: Change, codeHash: Buffer, refreshHash: Buffer): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connections')
    .set({ refresh_hash: refreshHash })
    .where('code_hash', '=', codeHash)
    .where('refresh_hash', 'is', null)
    .where('code_expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Replaces the refresh token of a connection. Returns false if another one is present. */
export async function rotateRefreshToken(
  db: Database,
  { present, next }: { present: Buffer; next: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connections')
    .set({ refresh_hash: next })
    .where('refresh_hash', '=', present)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

const isOld = sql<boolean>`(
  (connections.refresh_hash is null and connections.code_expires_at < now() - interval '10 minutes')
  or least(api_keys.revoked_at, api_keys.expires_at) < now() - interval '90 days'
)`
/** Keys in one transaction. */
const maxDeleted = 1000

/** Deletes connections whose code nobody has used, and those that ended 90 days ago. */
export async function deleteOldConnections(db: Database): Promise<void> {
  const old = await selectConnections(db).where(isOld).limit(maxDeleted).execute()
  // All processes forget the rights that they keep at each change of them.
  if (old.length === 0) return
  await changeRights(db, transaction =>
    sql`
      delete from api_keys using connections
      where api_keys.id = any(${old.map(({ key_id }) => key_id)}::uuid[]) and connections.key_id = api_keys.id and ${isOld}`.execute(
      transaction,
    ),
  )
}

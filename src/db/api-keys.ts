import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import { type ProviderAccess, restoreAccess, storeAccess } from '../auth/access.ts'
import type { Scope } from '../auth/scopes.ts'
import type { Member, SeenProvider } from '../auth/viewer.ts'
import type { Change, Database } from './client.ts'
import {
  asked,
  askedProviderId,
  askedTypes,
  type CredentialLookup,
  prepareLookups,
  seenProviderColumns,
  toSeenProvider,
  valuesOf,
} from './lookups.ts'
import { lockMember, memberColumns, toMember } from './members.ts'
import { type RightsVersion, toVersion, versionColumns } from './rights.ts'
import type { Schema } from './schema.ts'

export interface ApiKey {
  id: string
  userId: string
  name: string
  displayPrefix: string
  /** The scopes that the key was created with. */
  scopes: Scope[]
  /** The access that the key was created with. The owner's current access may be less. */
  access: ProviderAccess
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
  /** An application has connected with OAuth: see `db/connections.ts`. */
  isConnection: boolean
  /** The public key of SSH that opens SFTP with the rights of the key; null for none. */
  publicKey: Buffer | null
}

const keyColumns = [
  'api_keys.id',
  'api_keys.user_id',
  'api_keys.name',
  'api_keys.display_prefix',
  'api_keys.scopes',
  'api_keys.provider_access',
  'api_keys.created_at',
  'api_keys.expires_at',
  'api_keys.revoked_at',
  'api_keys.last_used_at',
  'api_keys.is_connection',
  'api_keys.public_key',
] as const

type KeyRow = Omit<Selectable<Schema['api_keys']>, 'workspace_id' | 'key_hash'>

function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    displayPrefix: row.display_prefix,
    scopes: row.scopes,
    access: restoreAccess(row.provider_access),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    isConnection: row.is_connection,
    publicKey: row.public_key,
  }
}

/** Returns null and inserts nothing if the owner already has `maxActive` usable keys, or connections of applications. */
export async function insertApiKey(
  db: Change,
  values: Pick<ApiKey, 'userId' | 'name' | 'displayPrefix' | 'scopes' | 'access' | 'expiresAt'> & {
    workspaceId: string
    hash: Buffer
    publicKey?: Buffer | null
    /** The id of a connection. */
    connectionId?: string
  },
  maxActive: number,
): Promise<ApiKey | null> {
  const { connectionId } = values
  const isConnection = connectionId !== undefined
  await lockMember(db, values)
  const { count } = await keysOf(db, values)
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where(isActive)
    .where('is_connection', '=', isConnection)
    .executeTakeFirstOrThrow()
  if (Number(count) >= maxActive) return null
  const row = await db
    .insertInto('api_keys')
    .values({
      workspace_id: values.workspaceId,
      user_id: values.userId,
      name: values.name,
      key_hash: values.hash,
      display_prefix: values.displayPrefix,
      scopes: values.scopes,
      provider_access: JSON.stringify(storeAccess(values.access)),
      expires_at: values.expiresAt,
      public_key: values.publicKey ?? null,
      is_connection: isConnection,
      ...(isConnection && { id: connectionId }),
    })
    .returning(keyColumns)
    .executeTakeFirstOrThrow()
  return toApiKey(row)
}

export async function hasHash(db: Database, keyId: string, hash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('api_keys')
    .select('id')
    .where('id', '=', keyId)
    .where('key_hash', '=', hash)
    .executeTakeFirst()
  return row !== undefined
}

export interface OwnedApiKey {
  key: ApiKey
  hash: Buffer
  owner: Member
  seenProvider: SeenProvider | null
  version: RightsVersion
}

/** Finds keys with their owners. The query is built only once, because every request with a key runs it. */
export function prepareOwnedApiKeys<Column extends 'key_hash' | 'id' | 'public_key'>(
  db: Database,
  column: Column,
): (lookups: readonly CredentialLookup<Selectable<Schema['api_keys']>[Column]>[]) => Promise<OwnedApiKey[]> {
  const find = prepareLookups(
    db,
    askedTypes(column === 'id' ? 'uuid' : 'bytea'),
    (rows: RawBuilder<{ value: unknown }>) =>
      db
        .selectFrom(asked(rows))
        .innerJoin('api_keys', join =>
          join
            .on(sql<boolean>`${sql.ref(`api_keys.${column}`)} = asked.value`)
            // A public key can be registered again after its API key is revoked.
            .on(column === 'public_key' ? sql<boolean>`api_keys.revoked_at is null` : sql<boolean>`true`),
        )
        .innerJoin('members', join =>
          join
            .onRef('members.workspace_id', '=', 'api_keys.workspace_id')
            .onRef('members.user_id', '=', 'api_keys.user_id'),
        )
        .innerJoin('users', 'users.id', 'api_keys.user_id')
        .leftJoin('providers', join =>
          join
            .on('providers.id', '=', askedProviderId('api_keys.workspace_id'))
            .onRef('providers.workspace_id', '=', 'api_keys.workspace_id'),
        )
        .innerJoin('rights_counter', join => join.onTrue())
        .select(versionColumns)
        .select(memberColumns)
        .select(keyColumns)
        .select('api_keys.key_hash')
        .select(seenProviderColumns)
        .compile(),
  )
  return async lookups => {
    const rows = await find(lookups.map(valuesOf))
    return rows.map(row => ({
      key: toApiKey(row),
      hash: row.key_hash,
      owner: toMember(row),
      seenProvider: toSeenProvider(row),
      version: toVersion(row),
    }))
  }
}

/** Returns keys, newest first, starting after the key `after`. */
export async function listApiKeys(
  db: Database,
  owner: KeyOwner,
  filter: {
    limit: number
    after: string | null
    includeInactive: boolean
    /** Null for both. */
    connections: boolean | null
  },
): Promise<ApiKey[]> {
  const { limit, after, includeInactive, connections } = filter
  let query = keysOf(db, owner).select(keyColumns).orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit)
  if (!includeInactive) query = query.where(isActive)
  if (connections !== null) query = query.where('is_connection', '=', connections)
  if (after !== null) {
    query = query.where(
      sql<SqlBool>`(created_at, id) < (select last.created_at, last.id from api_keys last where last.id = ${after})`,
    )
  }
  return (await query.execute()).map(toApiKey)
}

interface KeyOwner {
  workspaceId: string
  userId: string
}

const isActive = sql<SqlBool>`revoked_at is null and (expires_at is null or expires_at > now())`

function keysOf(db: Database, { workspaceId, userId }: KeyOwner) {
  return db.selectFrom('api_keys').where('workspace_id', '=', workspaceId).where('user_id', '=', userId)
}

export async function findApiKey(db: Database, workspaceId: string, id: string): Promise<ApiKey | null> {
  const row = await db
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ? toApiKey(row) : null
}

export async function renameApiKey(db: Change, id: string, name: string): Promise<ApiKey> {
  const query = db.updateTable('api_keys').set({ name }).where('id', '=', id).returning(keyColumns)
  return toApiKey(await query.executeTakeFirstOrThrow())
}

/** Revokes a key permanently. A revoked key keeps its time of revocation. */
export async function revokeApiKey(db: Change, id: string): Promise<ApiKey> {
  const query = db
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('id', '=', id)
    .returning(keyColumns)
  return toApiKey(await query.executeTakeFirstOrThrow())
}

/** Updates the time of last use, never to an earlier one. */
export async function touchApiKeys(db: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  await sql`
    update api_keys set last_used_at = used.at
    from unnest(${[...uses.keys()]}::uuid[], ${[...uses.values()]}::timestamptz[]) as used (id, at)
    where api_keys.id = used.id and (last_used_at is null or last_used_at < used.at)`.execute(db)
}

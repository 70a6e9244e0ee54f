/** Finds and replaces all encrypted values, for a rotation of the secret. */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { SealedKind } from '../auth/secrets.ts'
import type { Database } from './client.ts'

/** One encrypted value. */
export interface SealedValue {
  kind: SealedKind
  /** The id of its row, as text. */
  id: string
  sealed: Buffer
}

interface SealedColumn {
  table: string
  column: string
  /** The row's id as text. */
  id: RawBuilder<string>
  isRow(id: string): RawBuilder<SqlBool>
  /** False during a refresh, which compares the value and must find it unchanged. */
  isFree?: RawBuilder<SqlBool>
}

const columns: Record<SealedKind, SealedColumn> = {
  provider: { table: 'providers', column: 'secrets', id: sql`id::text`, isRow: id => sql`id = ${id}` },
  encryption: { table: 'providers', column: 'encryption_secrets', id: sql`id::text`, isRow: id => sql`id = ${id}` },
  tokens: {
    table: 'provider_tokens',
    column: 'sealed',
    id: sql`provider_id::text`,
    isRow: id => sql`provider_id = ${id}`,
    isFree: sql`(refreshing_until is null or refreshing_until < now())`,
  },
  consent: {
    table: 'oauth_states',
    column: 'sealed',
    id: sql`encode(state_hash, 'hex')`,
    isRow: id => sql`state_hash = decode(${id}, 'hex')`,
  },
  upload: { table: 'uploads', column: 'state', id: sql`id`, isRow: id => sql`id = ${id}` },
  webhook: { table: 'webhooks', column: 'secrets', id: sql`id::text`, isRow: id => sql`id = ${id}` },
  share: { table: 'shares', column: 'token', id: sql`id::text`, isRow: id => sql`id = ${id}` },
  totp: { table: 'totp_secrets', column: 'secret', id: sql`user_id::text`, isRow: id => sql`user_id = ${id}` },
  issuer: { table: 'issuers', column: 'secret', id: sql`id::text`, isRow: id => sql`id = ${id}` },
  'issuer-test': {
    table: 'issuer_tests',
    column: 'sealed',
    id: sql`credential_id::text`,
    isRow: id => sql`credential_id = ${id}`,
  },
  session: { table: 'sessions', column: 'id_token', id: sql`id::text`, isRow: id => sql`id = ${id}` },
  'host-key': { table: 'host_keys', column: 'private_key', id: sql`type`, isRow: id => sql`type = ${id}` },
  'push-key': { table: 'push_keys', column: 'private_key', id: sql`id::text`, isRow: id => sql`id = ${id}` },
}

export const sealedKinds = Object.keys(columns) as SealedKind[]
/** Each as `table.column`. */
export const sealedColumns = Object.values(columns).map(({ table, column }) => `${table}.${column}`)

/** Returns values whose first bytes are not `keyId`, in the order of their ids, starting after the id `after`. */
export async function findSealedOtherwise(
  db: Database,
  kind: SealedKind,
  keyId: Buffer,
  { after, limit }: { after: string; limit: number },
): Promise<SealedValue[]> {
  const { table, column, id } = columns[kind]
  const { rows } = await sql<{ id: string; sealed: Buffer }>`
    select ${id} as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where substring(${sql.ref(column)} from 1 for ${keyId.length}::int) <> ${keyId} and ${id} > ${after}
    order by 1 limit ${limit}`.execute(db)
  return rows.map(row => ({ kind, ...row }))
}

/** Replaces the value with `fresh`. Returns false if it was changed meanwhile or must not change now. */
export async function replaceSealed(db: Database, { kind, id, sealed }: SealedValue, fresh: Buffer): Promise<boolean> {
  const { table, column, isRow, isFree } = columns[kind]
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${fresh}
    where ${isRow(id)} and ${sql.ref(column)} = ${sealed} and ${isFree ?? sql`true`}`.execute(db)
  return numAffectedRows > 0n
}

/** Returns the number of values whose first bytes are none of `keyIds`. */
export async function countSealedOtherwise(db: Database, keyIds: readonly Buffer[]): Promise<number> {
  const counts = await Promise.all(
    Object.values(columns).map(async ({ table, column }) => {
      const { rows } = await sql<{ count: string }>`
        select count(*) as count from ${sql.table(table)}
        where ${sql.ref(column)} is not null
          and substring(${sql.ref(column)} from 1 for ${keyIds[0]?.length ?? 0}::int) <> all(${keyIds}::bytea[])`.execute(
        db,
      )
      return Number(rows[0]?.count)
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

import type { Selectable } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface Passkey {
  id: string
  userId: string
  credentialId: Buffer
  /** COSE. */
  publicKey: Buffer
  /** The signatures that the authenticator has made; 0 if it does not count them. */
  counter: number
  transports: readonly string[]
  /** The provider of the passkey copies it to other devices. */
  isSynced: boolean
  name: string
  createdAt: Date
  lastUsedAt: Date | null
}

/** @throws a unique violation if the passkey is known */
export async function insertPasskey(
  db: Change,
  values: Omit<Passkey, 'id' | 'createdAt' | 'lastUsedAt'>,
): Promise<Passkey> {
  const row = await db
    .insertInto('passkeys')
    .values({
      user_id: values.userId,
      credential_id: values.credentialId,
      public_key: values.publicKey,
      counter: values.counter,
      transports: [...values.transports],
      is_synced: values.isSynced,
      name: values.name,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toPasskey(row)
}

/** Returns the passkeys of a person, the oldest first. */
export async function listPasskeys(db: Database, userId: string): Promise<Passkey[]> {
  const query = db.selectFrom('passkeys').selectAll().where('user_id', '=', userId)
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toPasskey)
}

export async function findPasskey(db: Database, credentialId: Buffer): Promise<Passkey | null> {
  const query = db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId)
  const row = await query.executeTakeFirst()
  return row ? toPasskey(row) : null
}

/** Notes that a passkey was used, and locks it. Returns false if it was used or removed since it was read. */
export async function usePasskey(db: Change, { id, counter }: Passkey, counted: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passkeys')
    .set({ counter: counted, last_used_at: new Date() })
    .where('id', '=', id)
    .where('counter', '=', String(counter))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns null if the person has no such passkey. */
export async function renamePasskey(db: Change, userId: string, id: string, name: string): Promise<Passkey | null> {
  const query = db.updateTable('passkeys').set({ name }).where('id', '=', id).where('user_id', '=', userId)
  const row = await query.returningAll().executeTakeFirst()
  return row ? toPasskey(row) : null
}

/** Returns null if the person has no such passkey. */
export async function deletePasskey(db: Change, userId: string, id: string): Promise<Passkey | null> {
  const query = db.deleteFrom('passkeys').where('id', '=', id).where('user_id', '=', userId)
  const row = await query.returningAll().executeTakeFirst()
  return row ? toPasskey(row) : null
}

export async function deletePasskeys(db: Change, userId: string): Promise<void> {
  await db.deleteFrom('passkeys').where('user_id', '=', userId).execute()
}

function toPasskey(row: Selectable<Schema['passkeys']>): Passkey {
  return {
    id: row.id,
    userId: row.user_id,
    credentialId: row.credential_id,
    publicKey: row.public_key,
    counter: Number(row.counter),
    transports: row.transports,
    isSynced: row.is_synced,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}

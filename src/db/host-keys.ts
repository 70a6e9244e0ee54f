/** The host keys of the SFTP servers. */
import type { Database } from './client.ts'

export interface HostKey {
  /** As SSH names it. */
  type: string
  /** As SSH sends it. */
  publicKey: Buffer
  /** Encrypted. */
  privateKey: Buffer
}

export async function listHostKeys(db: Database): Promise<HostKey[]> {
  const rows = await db.selectFrom('host_keys').select(['type', 'public_key', 'private_key']).orderBy('type').execute()
  return rows.map(row => ({ type: row.type, publicKey: row.public_key, privateKey: row.private_key }))
}

/** Stores a key, unless there is one of its type already: several servers can start at once. */
export async function insertHostKey(db: Database, { type, publicKey, privateKey }: HostKey): Promise<void> {
  await db
    .insertInto('host_keys')
    .values({ type, public_key: publicKey, private_key: privateKey })
    .onConflict(conflict => conflict.column('type').doNothing())
    .execute()
}

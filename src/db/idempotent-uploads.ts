import { sql } from 'kysely'
import type { Database } from './client.ts'

/** Uses the clock of the database, because the clocks of replicas differ. */
const hold = sql<Date>`now() + interval '60 seconds'`

interface UploadKey {
  credentialId: string
  /** SHA-256. */
  keyHash: Buffer
}

interface IdempotentUpload {
  fingerprint: Buffer
  /** The id of the attempt that has the key. A different id means that another attempt took over. */
  attempt: string
  /** Null until the upload is complete. */
  response: object | null
}

/**
 * Claims the key for an attempt. Succeeds if the key is new or older than a day, or if the request is the same and the previous
 * attempt was not renewed for a minute. Returns the attempt that has the key now.
 */
export async function claimUpload(
  db: Database,
  key: UploadKey,
  { fingerprint, attempt }: { fingerprint: Buffer; attempt: string },
): Promise<IdempotentUpload> {
  const taken = await db
    .insertInto('idempotent_uploads')
    .values({ credential_id: key.credentialId, key_hash: key.keyHash, fingerprint, attempt, held_until: hold })
    .onConflict(conflict =>
      conflict
        .columns(['credential_id', 'key_hash'])
        .doUpdateSet({ fingerprint, attempt, held_until: hold, answer: null, created_at: sql`now()` })
        .where(({ and, eb, or, ref }) =>
          or([
            eb(ref('idempotent_uploads.created_at'), '<', sql<Date>`now() - interval '24 hours'`),
            and([
              eb(ref('idempotent_uploads.answer'), 'is', null),
              eb(ref('idempotent_uploads.held_until'), '<', sql<Date>`now()`),
              eb(ref('idempotent_uploads.fingerprint'), '=', fingerprint),
            ]),
          ]),
        ),
    )
    .returning('attempt')
    .executeTakeFirst()
  if (taken) return { fingerprint, attempt, response: null }
  const row = await at(db.selectFrom('idempotent_uploads'), key)
    .select(['fingerprint', 'attempt', 'answer as response'])
    .executeTakeFirst()
  // The key was released meanwhile: a retry of the client claims it.
  return row ?? { fingerprint, attempt: '', response: null }
}

/** Renews the claim. Call this every few seconds. */
export async function renewUpload(db: Database, key: UploadKey, attempt: string): Promise<void> {
  await at(db.updateTable('idempotent_uploads'), key).set({ held_until: hold }).where('attempt', '=', attempt).execute()
}

export async function storeUploadResponse(
  db: Database,
  key: UploadKey,
  attempt: string,
  response: object,
): Promise<void> {
  await at(db.updateTable('idempotent_uploads'), key)
    .set({ answer: JSON.stringify(response) })
    .where('attempt', '=', attempt)
    .execute()
}

export async function releaseUpload(db: Database, key: UploadKey, attempt: string): Promise<void> {
  await at(db.deleteFrom('idempotent_uploads'), key).where('attempt', '=', attempt).execute()
}

export async function deleteOldUploads(db: Database): Promise<void> {
  const old = sql<Date>`now() - interval '24 hours'`
  await db
    .deleteFrom('idempotent_uploads')
    .where('created_at', '<', old)
    .where('held_until', '<', sql<Date>`now()`)
    .execute()
}

interface Filtered<Self> {
  where(column: 'credential_id' | 'key_hash', operator: '=', value: never): Self
}

function at<Query extends Filtered<Query>>(query: Query, { credentialId, keyHash }: UploadKey): Query {
  return query.where('credential_id', '=', credentialId as never).where('key_hash', '=', keyHash as never)
}

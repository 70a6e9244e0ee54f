import { sql } from 'kysely'
import type { Database } from './client.ts'

/** Times are the database's, so that the clocks of replicas do not matter. */
const hold = sql<Date>`now() + interval '60 seconds'`

export interface UploadKey {
  credentialId: string
  /** SHA-256. */
  keyHash: Buffer
}

export interface UploadRecord {
  fingerprint: Buffer
  /** Of whoever works on it; another one took over where it is another. */
  attempt: string
  /** Null while it is under way. */
  answer: object | null
}

/**
 * Takes the key for an attempt: where nobody has it, where it is older than a day, or where whoever held it has not been
 * heard of for a minute and the request is the same. Resolves with who has it now.
 */
export async function claimUpload(
  db: Database,
  key: UploadKey,
  { fingerprint, attempt }: { fingerprint: Buffer; attempt: string },
): Promise<UploadRecord> {
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
  if (taken) return { fingerprint, attempt, answer: null }
  const row = await at(db.selectFrom('idempotent_uploads'), key)
    .select(['fingerprint', 'attempt', 'answer'])
    .executeTakeFirst()
  // Given up in this very instant: whoever asks again gets it.
  return row ?? { fingerprint, attempt: '', answer: null }
}

/** Once every some seconds: it is still being worked on. */
export async function holdUpload(db: Database, key: UploadKey, attempt: string): Promise<void> {
  await at(db.updateTable('idempotent_uploads'), key).set({ held_until: hold }).where('attempt', '=', attempt).execute()
}

export async function answerUpload(db: Database, key: UploadKey, attempt: string, answer: object): Promise<void> {
  await at(db.updateTable('idempotent_uploads'), key)
    .set({ answer: JSON.stringify(answer) })
    .where('attempt', '=', attempt)
    .execute()
}

export async function giveUpUpload(db: Database, key: UploadKey, attempt: string): Promise<void> {
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

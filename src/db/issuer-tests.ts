/** Queries about test sign-ins that have begun. Each credential has at most one. */
import type { Change, Database } from './client.ts'

/** Stores a test. It replaces an earlier one of the same credential. */
export async function putIssuerTest(
  db: Change,
  test: { credentialId: string; workspaceId: string; sealed: Buffer; expiresAt: Date },
): Promise<void> {
  const values = { workspace_id: test.workspaceId, sealed: test.sealed, expires_at: test.expiresAt }
  await db
    .insertInto('issuer_tests')
    .values({ credential_id: test.credentialId, ...values })
    .onConflict(conflict => conflict.column('credential_id').doUpdateSet(values))
    .execute()
}

export async function findIssuerTest(db: Database, credentialId: string): Promise<Buffer | null> {
  const row = await db
    .selectFrom('issuer_tests')
    .select('sealed')
    .where('credential_id', '=', credentialId)
    .where('expires_at', '>', new Date())
    .executeTakeFirst()
  return row?.sealed ?? null
}

export async function deleteIssuerTestsBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('issuer_tests').where('expires_at', '<', time).execute()
}

import { type Kysely, sql } from 'kysely'

/**
 * What is known of the contents of a storage stays if only properties change that never lead to other files, such as the number of
 * connections or the name of an access key.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const others = sql`'{accessKeyId,clientId,connections,continuesUploads,fingerprint,hostKey,maxBytes}'::text[]`
  await sql`drop trigger providers_contents_forgotten on providers`.execute(db)
  await sql`
    create trigger providers_contents_forgotten after update of config on providers for each row
      when (old.config - ${others} is distinct from new.config - ${others}) execute function forget_contents()`.execute(
    db,
  )
}

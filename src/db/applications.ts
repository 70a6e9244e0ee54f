/** Applications that have registered themselves with OAuth 2.0 Dynamic Client Registration. */
import { type Selectable, sql } from 'kysely'
import { secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface RegisteredApplication {
  id: string
  name: string
  redirectUris: readonly string[]
  createdAt: Date
}

/** The maximum number of registered applications. */
export const maxApplications = 10_000
/** Seconds. */
const unusedLifetime = 24 * 60 * 60
const lifetime = 365 * 24 * 60 * 60

/**
 * Inserts an application, which ends unless a person connects it within a day. If there are too many, removes the one without an active
 * connection that was registered or connected the longest ago.
 * @returns null if all of them have active connections
 */
export async function insertApplication(
  db: Database,
  { name, redirectUris }: Pick<RegisteredApplication, 'name' | 'redirectUris'>,
): Promise<RegisteredApplication | null> {
  return db.transaction().execute(async transaction => {
    await sql`select pg_advisory_xact_lock(hashtext('applications'))`.execute(transaction)
    await sql`
      delete from applications where id in (
        select id from applications
        where not exists (
          select from connections join api_keys on api_keys.id = connections.key_id
          where connections.client_id = applications.id::text
            and revoked_at is null and (api_keys.expires_at is null or api_keys.expires_at > now())
        )
        order by coalesce(used_at, created_at)
        limit greatest((select count(*) from applications) - ${maxApplications - 1}, 0)
      )`.execute(transaction)
    const { count } = await transaction
      .selectFrom('applications')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .executeTakeFirstOrThrow()
    if (Number(count) >= maxApplications) return null
    const row = await transaction
      .insertInto('applications')
      .values({ name, redirect_uris: [...redirectUris], expires_at: secondsFromNow(unusedLifetime) })
      .returningAll()
      .executeTakeFirstOrThrow()
    return toApplication(row)
  })
}

export async function findApplication(db: Database, id: string): Promise<RegisteredApplication | null> {
  const query = db.selectFrom('applications').selectAll().where('id', '=', id)
  const row = await query.where('expires_at', '>', sql<Date>`now()`).executeTakeFirst()
  return row ? toApplication(row) : null
}

/** Keeps an application for another year. */
export async function keepApplication(db: Change, id: string): Promise<void> {
  await db
    .updateTable('applications')
    .set({ used_at: sql<Date>`now()`, expires_at: secondsFromNow(lifetime) })
    .where('id', '=', id)
    .execute()
}

export async function deleteExpiredApplications(db: Database): Promise<void> {
  await db.deleteFrom('applications').where('expires_at', '<=', sql<Date>`now()`).execute()
}

function toApplication(row: Selectable<Schema['applications']>): RegisteredApplication {
  return { id: row.id, name: row.name, redirectUris: row.redirect_uris, createdAt: row.created_at }
}

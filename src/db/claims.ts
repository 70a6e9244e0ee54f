/**
 * Work that waits in tables until a server takes it. A claim has an id and an end: one server at a time works on the row, and if
 * that server is killed, another one claims the row after the end. A server that works for longer renews the claim.
 */
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { Database } from './client.ts'
import type { Schema } from './schema.ts'

type Table =
  | 'account_notices'
  | 'catalogues'
  | 'comment_notices'
  | 'directory_syncs'
  | 'entry_holds'
  | 'file_versions'
  | 'jobs'
  | 'push_messages'
  | 'quota_changes'
  | 'quota_counts'
  | 'reset_requests'
  | 'schedules'
  | 'share_emails'
  | 'trash_items'
  | 'uploads'
  | 'webhook_deliveries'

/** Returns the time of the database in some seconds. Replicas use its clock, because their own ones differ. */
export function secondsFromNow(seconds: number): RawBuilder<Date> {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}

/** Returns whether there is work. Reads only, because every server asks again and again. @param isDue matches rows `waiting` */
export async function isAnyDue(db: Database, table: Table, isDue: RawBuilder<SqlBool>): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} as waiting where ${isDue} limit 1`.execute(db)
  return rows.length > 0
}

/** Selects the rows to claim: the first ones of those that no other transaction is claiming. */
export function dueRows(
  table: Table,
  { isDue, orderBy, limit = 1 }: { isDue: RawBuilder<SqlBool>; orderBy: RawBuilder<unknown>; limit?: number },
): RawBuilder<unknown> {
  return sql`
    select waiting.id from ${sql.table(table)} as waiting where ${isDue}
    order by ${orderBy} limit ${limit} for update skip locked`
}

/**
 * Claims rows. Concurrent calls get different ones.
 * @param claim.dueKeys selects the columns of the key, as `dueRows` does
 * @param claim.set what the claim changes
 */
export async function claimRows<Name extends Table>(
  db: Database,
  table: Name,
  claim: { dueKeys: RawBuilder<unknown>; set: RawBuilder<unknown>; key?: readonly string[] },
): Promise<Selectable<Schema[Name]>[]> {
  const claimed = sql.table(table)
  const isSame = (claim.key ?? ['id']).map(column => sql`${claimed}.${sql.ref(column)} = due.${sql.ref(column)}`)
  const { rows } = await sql<Selectable<Schema[Name]>>`
    with due as materialized (${claim.dueKeys})
    update ${claimed} set ${claim.set} from due where ${sql.join(isSame, sql` and `)} returning ${claimed}.*`.execute(
    db,
  )
  return rows
}

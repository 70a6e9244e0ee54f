import { type Kysely, sql } from 'kysely'

/** The ends of jobs are among the changes that members see. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`drop index audit_events_activity`.execute(db)
  await sql`
    create index audit_events_activity on audit_events (workspace_id, id)
    where result = 'OK' and action in
      ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY', 'DELETE', 'RESTORE', 'COMMENT_CREATE', 'JOB_END')`.execute(
    db,
  )
}

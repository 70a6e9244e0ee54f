import { type Kysely, sql } from 'kysely'

/** The ends of jobs are among the changes that members see, also of those that failed after some files. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create index audit_events_changes on audit_events (workspace_id, id)
    where (result = 'OK' or action = 'JOB_END') and action in
      ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY', 'DELETE', 'RESTORE', 'COMMENT_CREATE', 'JOB_END')`.execute(
    db,
  )
  await sql`drop index audit_events_activity`.execute(db)
}

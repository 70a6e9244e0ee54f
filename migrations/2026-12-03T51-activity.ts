import { type Kysely, sql } from 'kysely'

/** The changes of files and folders that members see, without the downloads and failures that most of the audit log consists of. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create index audit_events_activity on audit_events (workspace_id, id)
    where result = 'OK' and action in
      ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY', 'DELETE', 'RESTORE', 'COMMENT_CREATE')`.execute(db)
}

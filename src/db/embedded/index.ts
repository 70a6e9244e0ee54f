/**
 * The embedded PostgreSQL: a real server as a child process, on a unix socket in the data folder, that cannot outlive
 * this process.
 *
 * To restore a backup: stop Stowage, move `<data>/postgres/data` away, put a copy of the backup in its place (`cp -r`),
 * and start Stowage. The start corrects the owner and the modes.
 */
export { type BackupOptions, backupEmbedded } from './backup.ts'
export type { ClusterConnection } from './connection.ts'
export { EmbeddedPostgresError } from './layout.ts'
export type { Log } from './programs.ts'
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start.ts'
export type { Migrate } from './upgrade.ts'

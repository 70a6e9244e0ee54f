import { readdir } from 'node:fs/promises'
import { sql } from 'kysely'
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration'
import type { Logger } from 'pino'
import { StartError } from '../errors.ts'
import { type Connection, connect, type Database, type DatabaseOptions } from './client.ts'

export class MigrationError extends StartError {
  override name = 'MigrationError'
}

const folder = new URL('../../migrations/', import.meta.url)
const oldestServer = 14

/** Migrations have the names of their files, which begin with date and time. They never change after a release. */
const provider: MigrationProvider = {
  async getMigrations() {
    const migrations: Record<string, Migration> = {}
    for (const file of await readdir(folder)) {
      const name = /^(.+)(?<!\.d)\.[jt]s$/.exec(file)?.[1]
      if (name) migrations[name] = await import(new URL(file, folder).href)
    }
    return migrations
  },
}

/**
 * Migrates the database to the newest version. If several replicas start at once, one of them migrates and the others wait for
 * an advisory lock, which Kysely's PostgreSQL adapter takes.
 * @throws MigrationError if the server is too old or the database is newer than this program
 */
export async function migrate(db: Database): Promise<void> {
  await checkServer(db)
  const migrator = new Migrator({ db, provider })
  const { unknown } = await migrationState(db)
  if (unknown.length > 0) {
    throw new MigrationError(
      `The database was migrated by a newer Stowage (it has "${unknown.join('", "')}"): run that version, or restore a backup.`,
    )
  }
  const { error } = await migrator.migrateToLatest()
  if (error) throw new MigrationError(`The database could not be migrated: ${describe(error)}.`, { cause: error })
}

/** Returns the migrations that are not applied yet, and the applied ones that only a newer version knows. */
export async function migrationState(db: Database): Promise<{ pending: string[]; unknown: string[] }> {
  const known = Object.keys(await provider.getMigrations())
  const applied = await appliedMigrations(db)
  return {
    pending: known.filter(name => !applied.includes(name)),
    unknown: applied.filter(name => !known.includes(name)),
  }
}

/** Returns whether all migrations are applied. */
export async function isMigrated(db: Database): Promise<boolean> {
  return (await migrationState(db)).pending.length === 0
}

async function appliedMigrations(db: Database): Promise<string[]> {
  const { rows } = await sql<{ exists: boolean }>`select to_regclass('kysely_migration') is not null as exists`.execute(
    db,
  )
  if (!rows[0]?.exists) return []
  return (await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)).rows.map(
    r => r.name,
  )
}

async function checkServer(db: Database): Promise<void> {
  const { rows } = await sql<{ major: number }>`
    select current_setting('server_version_num')::int / 10000 as major`.execute(db)
  const major = rows[0]?.major ?? 0
  if (major < oldestServer) {
    throw new MigrationError(`The database server is PostgreSQL ${major}: Stowage needs ${oldestServer} or newer.`)
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Connects to the database and migrates it. @throws StartError */
export async function openDatabase(
  connection: Connection,
  log: Logger,
  options: Pick<DatabaseOptions, 'onQuery'> = {},
): Promise<Database> {
  const onError = (err: Error) => log.warn({ err }, 'A connection to the database broke')
  const migrating = connect(connection, { onError, queryTimeout: null })
  try {
    await migrate(migrating)
  } catch (error) {
    if (error instanceof StartError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`the database (see DATABASE_URL) cannot be used: ${why}.`, { cause: error })
  } finally {
    await migrating.destroy()
  }
  return connect(connection, { ...options, onError })
}

import { readdir } from 'node:fs/promises'
import { extname } from 'node:path'
import { sql } from 'kysely'
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration'
import type { Logger } from 'pino'
import { StartError } from '../errors.ts'
import { type Connection, connect, type Database, type DatabaseOptions } from './client.ts'

export class MigrationError extends StartError {
  override name = 'MigrationError'
}

/** The steps. */
const folder = new URL('../../migrations/', import.meta.url)
const oldestServer = 14

/** The last step whose result `baseline.ts` contains. */
export const lastOfBaseline = '2026-11-25T10-entry-metadata'

/** Migrations have the names of their files, which begin with date and time. They never change after a release. */
export async function migrationNames(): Promise<string[]> {
  const files = await readdir(folder)
  return files.flatMap(file => /^(.+)(?<!\.d)\.[jt]s$/.exec(file)?.[1] ?? []).toSorted()
}

/** Loads and runs one step. */
export async function runStep(name: string, db: Database): Promise<void> {
  const step: Migration = await import(new URL(name + extname(import.meta.url), folder).href)
  await step.up(db)
}

/** Creates an empty database with the baseline instead of the steps that it replaces. */
async function createProvider(): Promise<MigrationProvider> {
  const names = await migrationNames()
  let isNew = false
  const up = async (name: string, db: Database) => {
    if (name === names[0]) {
      const { baseline } = await import('./baseline.ts')
      await sql.raw(baseline).execute(db)
      isNew = true
    } else if (!isNew || name > lastOfBaseline) {
      await runStep(name, db)
    }
  }
  const migrations = Object.fromEntries(names.map(name => [name, { up: (db: Database) => up(name, db) }]))
  return { getMigrations: async () => migrations }
}

/**
 * Migrates the database to the newest version. If several replicas start at once, one of them migrates and the others wait for
 * an advisory lock, which Kysely's PostgreSQL adapter takes.
 * @throws MigrationError if the server is too old or the database is newer than this program
 */
export async function migrate(db: Database): Promise<void> {
  await checkServer(db)
  const migrator = new Migrator({ db, provider: await createProvider() })
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
  const known = await migrationNames()
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

/** Implements `stowage copy-database`: moves a workspace between the embedded database and a PostgreSQL of your own. */
import pg from 'pg'
import { type Connection, connect } from '../db/client.ts'
import { copyRows } from '../db/copy-rows.ts'
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../db/embedded/index.ts'
import { isMigrated, openDatabase } from '../db/migrate.ts'
import { StartError } from '../errors.ts'
import { createLog } from '../log/logger.ts'
import type { Settings } from '../settings/index.ts'
import { makeDataFolder, requireDatabase } from './data-folder.ts'

/** The target that names the embedded database of the data folder. */
export const embeddedTarget = 'embedded'

/**
 * Copies the database of the settings to another one without accounts. No server may be running on either.
 * @param target the URL of a PostgreSQL, or `embeddedTarget`
 * @returns the number of rows
 * @throws StartError, EmbeddedPostgresError, or the signal's reason; the target then has no accounts, and the source is unchanged
 */
export async function copyDatabase(settings: Settings, target: string, signal: AbortSignal): Promise<number> {
  await using cleanup = new AsyncDisposableStack()
  const source = await openSource(settings, target, cleanup, signal)
  const destination = await openDestination(settings, target, cleanup, signal)
  const from = await openClient(source, cleanup)
  const to = await openClient(destination, cleanup)
  await requireUnused(from, 'database')
  await requireMigrated(source)
  await requireUnused(to, 'new database')
  await requireFree(to)
  await (await openDatabase(destination, createLog('silent'))).destroy()
  try {
    return await copyRows(from, to, signal)
  } catch (error) {
    signal.throwIfAborted()
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`the rows could not be copied (${why}): the database is unchanged, and can be copied again.`, {
      cause: error,
    })
  }
}

async function openSource(
  { databaseUrl, dataFolder }: Settings,
  target: string,
  cleanup: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Connection> {
  if (databaseUrl !== null) return { connectionString: databaseUrl }
  if (target === embeddedTarget) {
    throw new StartError('this server has the embedded database already: name the database to copy with DATABASE_URL.')
  }
  await requireDatabase(dataFolder)
  return startOwn({ dataFolder, signal, log: () => {} }, cleanup)
}

async function openDestination(
  settings: Settings,
  target: string,
  cleanup: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Connection> {
  if (target !== embeddedTarget) return { connectionString: target }
  await makeDataFolder({ ...settings, databaseUrl: null })
  return startOwn({ dataFolder: settings.dataFolder, signal, log: () => {} }, cleanup)
}

/** Starts an embedded database that no server uses. */
async function startOwn(options: EmbeddedPostgresOptions, cleanup: AsyncDisposableStack): Promise<Connection> {
  const database = await startEmbeddedPostgres(options)
  cleanup.defer(() => database.stop())
  if (database.owner) return database.connection
  throw new StartError(
    `a server is running on ${options.dataFolder}: stop it first, because the copy would lack its later changes.`,
  )
}

/** Requires that no server is connected. */
async function requireUnused(client: pg.Client, what: string): Promise<void> {
  const { rows } = await client.query<{ count: number }>(`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = 'stowage' and pid <> pg_backend_pid()`)
  const connected = rows[0]?.count ?? 0
  if (connected === 0) return
  throw new StartError(
    `a server has ${connected} connections to the ${what}: stop every replica first. A connection pooler keeps connections for a while.`,
  )
}

async function requireMigrated(connection: Connection): Promise<void> {
  const db = connect(connection, { max: 1 })
  try {
    if (await isMigrated(db)) return
  } finally {
    await db.destroy()
  }
  throw new StartError('the database is of an earlier version: start this version on it once, stop it, and copy again.')
}

/** Requires an empty database, or one of Stowage in which nobody has registered, which a failed copy leaves. */
async function requireFree(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ encoding: string; tables: number; is_stowage: boolean }>(`
    select current_setting('server_encoding') as encoding, to_regclass('kysely_migration') is not null as is_stowage,
      (select count(*)::int from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace) as tables`)
  const [found] = rows
  if (found?.encoding !== 'UTF8') {
    throw new StartError(`the new database has the encoding ${found?.encoding}: create one with the encoding UTF8.`)
  }
  if (found.tables === 0) return
  const isFree = found.is_stowage && (await client.query('select from users limit 1')).rowCount === 0
  if (!isFree) throw new StartError('the new database is in use: name an empty database.')
}

/** Connects to a database until `cleanup`. @throws StartError */
async function openClient(connection: Connection, cleanup: AsyncDisposableStack): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    application_name: 'stowage copy-database',
    connectionTimeoutMillis: 10_000,
  })
  // The query that fails reports a broken connection.
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`a database cannot be used: ${why}.`, { cause: error })
  }
  cleanup.defer(() => client.end())
  return client
}

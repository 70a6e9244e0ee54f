import type { Logger } from 'pino'
import { StartError } from '../errors.ts'
import { type Connection, connect, type Database, type DatabaseOptions } from './client.ts'
import { migrate } from './migrate.ts'

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

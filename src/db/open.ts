import type { Logger } from 'pino'
import { StartError } from '../start-error.ts'
import { type Connection, connect, type Database } from './client.ts'
import { migrate } from './migrate.ts'

/** Connects to the database and migrates it. @throws StartError */
export async function openDatabase(connection: Connection, log: Logger): Promise<Database> {
  const db = connect(connection, { onError: err => log.warn({ err }, 'A connection to the database broke') })
  try {
    await migrate(db)
    return db
  } catch (error) {
    await db.destroy()
    if (error instanceof StartError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`the database (see DATABASE_URL) cannot be used: ${why}.`, { cause: error })
  }
}

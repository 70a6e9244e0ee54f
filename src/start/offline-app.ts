/** Runs the app without a server, for commands that work on its data. */
import { buildApp } from '../app.ts'
import type { Connection, Database } from '../db/client.ts'
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../db/embedded/index.ts'
import { createLog } from '../log/logger.ts'
import { Redaction } from '../log/redaction.ts'
import type { Services } from '../services/index.ts'
import type { Settings } from '../settings/index.ts'

/** Resolves with the database of the settings: an embedded one that a server runs, or one that runs until `cleanup`. */
export async function connectionTo(
  { databaseUrl, dataFolder }: Settings,
  cleanup: AsyncDisposableStack,
  options: Pick<EmbeddedPostgresOptions, 'migrate'> = {},
): Promise<Connection> {
  if (databaseUrl !== null) return { connectionString: databaseUrl }
  const database = await startEmbeddedPostgres({ dataFolder, log: () => {}, ...options })
  cleanup.defer(() => database.stop())
  return database.connection
}

/** Runs `use` with the services of an app that runs no jobs and logs nothing. */
export async function withServices<T>(
  options: { db: Database; settings: Settings; secret: string; previousSecret: string | null },
  use: (services: Services) => Promise<T>,
): Promise<T> {
  const redaction = new Redaction()
  const app = await buildApp({
    ...options,
    settings: { ...options.settings, workers: 0, catalogueHours: 0 },
    log: createLog('silent', undefined, redaction.redact),
    redaction,
  })
  try {
    return await use(app.services)
  } finally {
    await app.close()
  }
}

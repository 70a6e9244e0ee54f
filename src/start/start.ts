/**
 * The start of a server, and the commands of its operator. It takes a command line and settings, and returns an exit status.
 *
 * This file starts everything, waits for a signal, and stops everything in the opposite order.
 */
import type { Logger } from 'pino'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../db/embedded/index.ts'
import { openDatabase } from '../db/migrate.ts'
import { createLog, exitOnUncaught } from '../log/logger.ts'
import { Redaction } from '../log/redaction.ts'
import type { Settings } from '../settings/index.ts'
import { isOpenToOthers, makeDataFolder, requireSeparateRoots } from './data-folder.ts'
import type { Served, ServeTask } from './serve.ts'

/** Resolves with the exit status once the server has stopped. */
export async function start(settings: Settings): Promise<number> {
  const redaction = new Redaction()
  const log = createLog(settings.logLevel, undefined, redaction.redact)
  exitOnUncaught(log)
  const stopped = Promise.withResolvers<number>()
  const onSignal = (signal: NodeJS.Signals) => {
    log.info(`${signal}: stopping; running transfers have some seconds to finish`)
    stopped.resolve(0)
  }
  await using cleanup = new AsyncDisposableStack()
  await prepareDataFolder(settings, log)
  const embedded = settings.databaseUrl === null ? await startEmbedded(settings, log) : null
  if (embedded) {
    cleanup.defer(() => embedded.stop())
    embedded.onExit(() => {
      log.fatal('The embedded PostgreSQL has stopped; its log in the data folder says why')
      stopped.resolve(1)
    })
  }
  const connection = embedded?.connection ?? { connectionString: settings.databaseUrl ?? '' }
  const served = await serveInProcesses(
    { settings, connection, isFirst: true, sharesMetrics: false },
    { log, redaction },
  )
  cleanup.defer(() => served.close())
  // `on`, not `once`: npm repeats the terminal's Ctrl-C, and the second signal must not kill the process.
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  process.stdout.write(banner(settings, served))
  return await stopped.promise
}

/** Serves in this process, or in as many others as the settings say. */
async function serveInProcesses(task: ServeTask, logging: { log: Logger; redaction: Redaction }): Promise<Served> {
  // Load only what this process needs.
  if (task.settings.processes === 1) return (await import('./serve.ts')).serve(task, logging)
  return (await import('./processes.ts')).superviseProcesses(task, logging.log)
}

async function prepareDataFolder(settings: Settings, log: Logger): Promise<void> {
  const { dataFolder } = settings
  await makeDataFolder(settings)
  await requireSeparateRoots(settings)
  if (await isOpenToOthers(dataFolder)) {
    log.warn(
      `Other users of this machine can read the files in ${dataFolder}: run "chmod 700 ${dataFolder}" to prevent it`,
    )
  }
}

async function startEmbedded(settings: Settings, log: Logger): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    dataFolder: settings.dataFolder,
    log: (message, details) => log.debug(details ?? {}, message),
    migrate: async connection => (await openDatabase(connection, log)).destroy(),
  })
}

function banner(settings: Settings, { address, installation: { hasOwner, needsSetupCode } }: Served): string {
  const base = settings.publicUrl ?? address
  const where = settings.databaseUrl === null ? `data in ${settings.dataFolder}` : 'on the database of DATABASE_URL'
  const code = needsSetupCode ? ', "setupCode": "<STOWAGE_SETUP_CODE>"' : ''
  const next = !hasOwner
    ? `Nobody has an account yet. The first one to register owns the workspace: open ${base} in a browser, or

  curl ${base}/graphql -H 'Content-Type: application/json' -d '{
    "query": "mutation ($input: RegisterInput!) { register(input: $input) { token user { email role } } }",
    "variables": { "input": { "email": "you@example.org", "password": "at least 12 characters"${code} } }
  }'
`
    : `Open it in a browser, sign in with the login mutation, or send an API key.
`
  return `
Stowage is ready at ${base} (${where})

${next}
Try the API: ${base}/graphiql

`
}

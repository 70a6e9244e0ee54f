/** Starts everything, waits for a signal, and stops everything in the opposite order. */
import type { Logger } from 'pino'
import { buildApp } from './app.ts'
import { preparePasswords } from './auth/passwords.ts'
import { startBackgroundWork } from './background.ts'
import { prepareConsole } from './console-build.ts'
import { isOpenToOthers, makeDataFolder, requireSeparateRoots } from './data-folder.ts'
import { type Connection, connect, type Database } from './db/client.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './db/embedded/index.ts'
import { migrate } from './db/migrate.ts'
import { createLog } from './log/logger.ts'
import { Redaction } from './log/redaction.ts'
import { readOrMakeSecret } from './secret-file.ts'
import type { Installation } from './services/people/workspaces.ts'
import { type Settings, SettingsError } from './settings.ts'
import { StartError } from './start-error.ts'
import { warnUntilOwned } from './unowned.ts'

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
  const db = await openDatabase(embedded?.connection ?? { connectionString: settings.databaseUrl ?? '' }, log)
  cleanup.defer(() => db.destroy())
  const { secret, previous } = await readSecrets(settings)
  redaction.hold(secret, previous, settings.setupCode, passwordIn(settings.databaseUrl))
  await prepareConsole(line => process.stdout.write(`${line}\n`)).catch(err =>
    log.warn({ err }, 'The console could not be built; the API works without it'),
  )
  const app = await buildApp({ db, secret, previousSecret: previous, settings, log, redaction })
  cleanup.defer(() => app.close())
  // `on`, not `once`: npm repeats the terminal's Ctrl-C, and the second signal must not kill the process.
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  await preparePasswords()
  const address = await listen(app.server, settings)
  cleanup.defer(startBackgroundWork(app.services, previous !== null, log))
  const { installation } = app.services.workspaces
  const hosts = app.server.addresses().flatMap(bound => (typeof bound === 'string' ? [] : bound.address))
  const warn = (message: string) => log.warn(message)
  cleanup.defer(warnUntilOwned({ hosts, setupCode: settings.setupCode, installation, warn }))
  process.stdout.write(banner(settings, address, await installation()))
  return await stopped.promise
}

async function readSecrets({ secret, previousSecret, dataFolder }: Settings) {
  return secret === null ? await readOrMakeSecret(dataFolder) : { secret, previous: previousSecret }
}

/** Replaces Node's own report, which shows properties of the error, such as clients, requests and configurations. */
function exitOnUncaught(log: Logger): void {
  process.on('uncaughtException', err => {
    log.fatal({ err }, 'An uncaught error ends the server')
    process.exit(1)
  })
}

function passwordIn(url: string | null): string | null {
  const { password } = new URL(url ?? 'postgres:')
  return decodeURIComponent(password)
}

async function prepareDataFolder(settings: Settings, log: Logger): Promise<void> {
  const { dataFolder, databaseUrl } = settings
  if (databaseUrl === null) await makeDataFolder(dataFolder)
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

async function openDatabase(connection: Connection, log: Logger): Promise<Database> {
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

async function listen(server: { listen(options: object): Promise<string> }, settings: Settings): Promise<string> {
  try {
    return await server.listen({ port: settings.port, host: settings.host })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'EADDRINUSE') throw new SettingsError(`PORT ${settings.port} is in use: set PORT to another one.`)
    if (code === 'EACCES')
      throw new SettingsError(
        `PORT ${settings.port} requires privileges that this user does not have: set PORT to 1024 or higher.`,
      )
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      throw new SettingsError(`HOST "${settings.host}" is not an address of this machine.`)
    throw error
  }
}

function banner(settings: Settings, address: string, { hasOwner, needsSetupCode }: Installation): string {
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

/** Serves HTTP in this process, from connecting to the database to closing everything. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { buildApp } from '../app.ts'
import { preparePasswords } from '../auth/passwords.ts'
import type { Connection } from '../db/client.ts'
import { openDatabase } from '../db/migrate.ts'
import { trustedProxies } from '../http/connection/proxies.ts'
import { isLoopback } from '../lib/loopback.ts'
import type { Redaction } from '../log/redaction.ts'
import type { Services } from '../services/index.ts'
import type { Installation } from '../services/people/workspaces.ts'
import { type Settings, SettingsError } from '../settings/index.ts'
import type { Traces } from '../tracing/index.ts'
import { startBackgroundWork } from './background.ts'
import { readSecrets } from './data-folder.ts'

/** Plain data, so that it can be sent to another process. */
export interface ServeTask {
  settings: Settings
  connection: Connection
  /** Only the first of several processes deletes old rows and warns about a missing owner. */
  isFirst: boolean
  /** Whether another process reads the metrics of this one and serves them. */
  sharesMetrics: boolean
}

export interface Served {
  /** An address that the server listens on. */
  address: string
  installation: Installation
  /** Lets transfers finish for some seconds, and closes everything. */
  close(): Promise<void>
}

/** @throws StartError */
export async function serve(
  { settings, connection, isFirst, sharesMetrics }: ServeTask,
  { log, redaction }: { log: Logger; redaction: Redaction },
): Promise<Served> {
  await using cleanup = new AsyncDisposableStack()
  const traces = await traceRequests(settings, log)
  if (traces) cleanup.defer(() => traces.close())
  const db = await openDatabase(connection, log, traces && { onQuery: traces.observeQuery })
  cleanup.defer(() => db.destroy())
  const { secret, previous } = await readSecrets(settings)
  redaction.hold(
    secret,
    previous,
    settings.setupCode,
    settings.oidc?.clientSecret,
    settings.ldap?.bindPassword,
    passwordIn(settings.databaseUrl),
    passwordIn(settings.mail?.smtpUrl ?? null),
  )
  const { metricsAddress } = settings
  const metrics = metricsAddress && (await import('../metrics/index.ts')).createMetrics()
  const app = await buildApp({
    db,
    secret,
    previousSecret: previous,
    settings,
    log,
    redaction,
    metrics: metrics ?? undefined,
    traces,
  })
  cleanup.defer(() => app.close())
  if (metrics && sharesMetrics) {
    const { shareMetrics } = await import('../metrics/processes.ts')
    shareMetrics(metrics.register)
  } else if (metrics) {
    const { listenForScrapes } = await import('../metrics/listen.ts')
    cleanup.defer(await listenForScrapes(metricsAddress, () => metrics.register.metrics()))
  }
  await preparePasswords()
  const address = await listen(app.server, settings)
  if (settings.sftpAddress) {
    const { register } = metrics ?? {}
    cleanup.defer(await listenForSftp(app.services, settings.sftpAddress, settings, { log, register }))
  }
  cleanup.defer(app.services.overview.announce())
  const { installation } = app.services.workspaces
  if (isFirst) {
    cleanup.defer(startBackgroundWork(app.services, previous !== null, log))
    const hosts = app.server.addresses().flatMap(bound => (typeof bound === 'string' ? [] : bound.address))
    const warn = (message: string) => log.warn(message)
    cleanup.defer(warnUntilOwned({ hosts, setupCode: settings.setupCode, installation, warn }))
  }
  const found = await installation()
  const closing = cleanup.move()
  return { address, installation: found, close: () => closing.disposeAsync() }
}

/** Loads the libraries only if requests are traced. */
async function traceRequests({ traceEndpoint, traceRatio }: Settings, log: Logger): Promise<Traces | undefined> {
  if (traceEndpoint === null) return undefined
  const { startTraces } = await import('../tracing/index.ts')
  const warn = (message: string, err: unknown) => log.warn({ err }, message)
  return startTraces({ endpoint: traceEndpoint, ratio: traceRatio, warn })
}

function passwordIn(url: string | null): string | null {
  const { password } = new URL(url ?? 'postgres:')
  return decodeURIComponent(password)
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

/** Loads the libraries of SSH only if they are used. @throws SettingsError */
async function listenForSftp(
  services: Services,
  address: { host: string; port: number },
  { connectionLimit, trustedProxies: proxies }: Settings,
  { log, register }: { log: Logger; register: Registry | undefined },
): Promise<() => Promise<void>> {
  const isProxy = trustedProxies(proxies)
  const metrics = register && (await import('../metrics/sftp.ts')).createSftpMetrics(register)
  const { startSftp } = await import('../endpoints/sftp/index.ts')
  const onFault = (err: Error, requestId: string) => log.error({ err, requestId }, 'A request over SFTP failed')
  const observe = metrics?.observeRequest
  const options = { services, address, connectionLimit, isProxy, onFault, ...(observe && { observe }) }
  const server = await startSftp(options).catch(error => {
    if (!('syscall' in error)) throw error
    throw new SettingsError(`STOWAGE_SFTP_ADDRESS cannot be used: ${error.message}.`)
  })
  metrics?.observeLoad(server.load)
  log.info({ address: `${address.host}:${server.port}` }, 'SFTP is served')
  return server.close
}

/** Milliseconds. */
const hour = 60 * 60 * 1000

/**
 * Warns regularly while anyone who can connect to the server could become its owner.
 * @param options.hosts addresses that the server listens on
 * @returns a function that ends the warnings
 */
export function warnUntilOwned(options: {
  hosts: readonly string[]
  setupCode: string | null
  installation: () => Promise<Pick<Installation, 'hasOwner'>>
  warn: (message: string) => void
  /** Milliseconds. Default: an hour. */
  interval?: number
}): () => void {
  const { hosts, setupCode, installation, warn, interval = hour } = options
  if (setupCode !== null || hosts.every(isLoopback)) return () => {}
  const check = async () => {
    // Failures of the database are reported elsewhere.
    const found = await installation().catch(() => null)
    if (found?.hasOwner) clearInterval(timer)
    else if (found)
      warn('Anyone who can connect to this server can become its owner: register, or set STOWAGE_SETUP_CODE')
  }
  const timer = setInterval(check, interval).unref()
  void check()
  return () => clearInterval(timer)
}

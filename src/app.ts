/** The composition root: the only file that imports every layer. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { AdapterDefinition } from '../adapters/contract.ts'
import { builtInAdapters } from '../adapters/index.ts'
import { deriveSecrets } from './auth/secrets.ts'
import { type Database, poolState } from './db/client.ts'
import { countUnended } from './db/jobs/leases.ts'
import { isMigrated } from './db/migrate.ts'
import { registerGraphql } from './endpoints/graphql/index.ts'
import { registerFrontEnds } from './endpoints/index.ts'
import { closeGracefully } from './http/connection/graceful-close.ts'
import { createServer } from './http/server.ts'
import { withTimeout } from './lib/timeout.ts'
import { describeDetails } from './log/logger.ts'
import { Redaction } from './log/redaction.ts'
import type { Metrics } from './metrics/index.ts'
import { createServices, type Services } from './services/index.ts'
import { createAuthentication } from './services/people/authentication.ts'
import type { Settings } from './settings/index.ts'
import { createStorage } from './storage/index.ts'
import { createNetwork, type Networks, privateNetworks } from './storage/network/index.ts'
import { createFindRecord } from './storage/provider-cache.ts'
import { loadAdapters } from './storage/registry.ts'
import type { Traces } from './tracing/index.ts'

export interface App {
  server: FastifyInstance
  services: Services
  /** Waits some seconds for running transfers, then frees everything but the database. */
  close(): Promise<void>
}

/** Milliseconds for running transfers to finish. A whole stop takes less than ten seconds. */
const drainTimeout = 7000
/** Milliseconds for the back ends to close. */
const closeTimeout = 1000

export async function buildApp(options: {
  db: Database
  /** The secret from which all keys are derived. */
  secret: string
  /** A second secret that is accepted, but not used for anything new. Default: none. */
  previousSecret?: string | null | undefined
  settings: Settings
  log: Logger
  /** The log's redaction, which gets the credentials of providers while they are in use. */
  redaction?: Redaction
  /** Default: the built-in ones. */
  adapters?: readonly AdapterDefinition[] | undefined
  /** Milliseconds for a call to a back end that moves no file content. Default: a minute. */
  metadataTimeout?: number | undefined
  /** Milliseconds for a request body, except uploads. Default: half a minute. */
  bodyTimeout?: number | undefined
  /** Milliseconds between two comments in a stream of events. Default: twelve seconds. */
  heartbeat?: number | undefined
  /** The addresses at which applications may describe themselves. Default: those of public networks, as far as the settings permit them. */
  publicNetworks?: Networks | undefined
  /** Measures the app. Default: nothing is measured. */
  metrics?: Metrics | undefined
  /** Traces the requests. Default: nothing is traced. */
  traces?: Traces | undefined
}): Promise<App> {
  const { db, settings, log, redaction = new Redaction(), metrics, traces } = options
  const observers = [metrics, traces].filter(observer => observer !== undefined)
  const secrets = deriveSecrets(options.secret, options.previousSecret)
  const adapters = await loadAdapters({
    builtIn: options.adapters ?? sharedAdapters(settings),
    packages: settings.adapterPackages,
    warn: (message, err) => log.warn({ err }, message),
  })
  const onError = (err: unknown) => log.error({ err }, 'Work in the background failed')
  const record = createFindRecord(db)
  const limits = { requestsPerMinute: settings.rateLimit, signIns: settings.signInLimit }
  const authentication = createAuthentication({ db, secrets, record, limits, onError })
  const network = createNetwork({ allow: settings.allowedNetworks, deny: settings.deniedNetworks })
  const storage = createStorage({
    db,
    secrets,
    adapters,
    record,
    activeGrants: authentication.activeGrants,
    changes: authentication.entryGuard.changes,
    quotas: authentication.quotas.guard,
    network,
    redaction,
    warn: (message, details = {}) => log.warn(describeDetails(details), message),
    metadataTimeout: options.metadataTimeout,
    transferTimeout: settings.backEndTimeout * 1000,
    trashDays: settings.trashDays,
    usualVersions: { count: settings.versionCount, days: settings.versionDays },
    observe: (provider, record) =>
      observers.reduce((seen, { observeProvider }) => observeProvider(seen, record), provider),
  })
  const ownServices = createServices({
    db,
    secrets,
    authentication,
    storage,
    redaction,
    fetch: network.fetch,
    publicFetch: createNetwork(options.publicNetworks ?? { deny: [...privateNetworks, ...settings.deniedNetworks] })
      .fetch,
    setupCode: settings.setupCode,
    oidc: settings.oidc,
    ldap: settings.ldap,
    maxUploadBytes: settings.maxUploadBytes,
    directSeconds: settings.directSeconds,
    mail: settings.mail,
    push: settings.push,
    scanner: settings.scanner,
    auditDays: settings.auditDays,
    catalogueHours: settings.catalogueHours,
    workers: settings.workers,
    dataFolder: settings.dataFolder,
    processes: settings.processes,
    thumbnailBytes: settings.thumbnailBytes,
    searchPath: settings.searchPath,
    observeJob: traces?.observeJob ?? ((_job, run) => run()),
    onError,
    onAuditLoss(loss) {
      log.error(loss, 'Events of the audit log could not be stored')
      metrics?.countLostEvents(loss.lost)
    },
    onMailFailure: ({ about, ...failure }) => log.warn(failure, `An email about ${about} could not be sent`),
    onResetLoss: () => log.warn('A request of a new password was dropped, because too many wait for their email'),
    onPushFailure: failure => log.warn(failure, 'A push notification could not be sent'),
    onScanFailure: err => log.warn({ err }, 'The virus scanner failed'),
    onScanResult: result => metrics?.countScan(result),
    onDamage(damage) {
      log.warn(damage, 'A job has found damaged or missing files')
      metrics?.countDamage({ ...damage })
    },
  })
  const services = traces?.observeServices(ownServices) ?? ownServices
  const { bodyTimeout } = options
  const observe = (server: FastifyInstance) => {
    for (const { observeServer } of observers) observeServer(server)
  }
  const server = await createServer({ services, settings, log, ready: () => requireReady(db), bodyTimeout, observe })
  metrics?.observeState({
    database: () => poolState(db),
    waitingEvents: services.audit.waiting,
    jobs: () => countUnended(db),
  })
  await registerFrontEnds(server, { services, settings })
  await registerGraphql(server, {
    services,
    settings,
    observe: traces?.observeOperation ?? ((_operation, execute) => execute()),
    heartbeat: options.heartbeat,
  })
  return {
    server,
    services,
    async close() {
      await Promise.all([closeGracefully(server, drainTimeout), services.stopJobs()])
      await services.close()
      // An unresponsive back end must not delay the end of the server. `close` logs its own failures.
      await withTimeout(storage.close(), closeTimeout, () => new Error('A back end does not close in time.')).catch(
        () => {},
      )
    },
  }
}

/** Several processes would show different files of a memory provider. */
function sharedAdapters(settings: Settings): AdapterDefinition[] {
  return builtInAdapters(settings).filter(({ type }) => type !== 'memory' || settings.processes === 1)
}

async function requireReady(db: Database): Promise<void> {
  if (!(await isMigrated(db))) throw new Error('The database is not migrated yet.')
}

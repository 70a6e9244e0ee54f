/** The composition root: it alone imports every layer. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { AdapterDefinition } from '../adapters/contract.ts'
import { builtInAdapters } from '../adapters/index.ts'
import { deriveSecrets } from './auth/secrets.ts'
import type { Database } from './db/client.ts'
import { isMigrated } from './db/migrate.ts'
import { registerFrontEnds } from './front-ends.ts'
import { registerGraphql } from './graphql/index.ts'
import { originOf } from './http/authentication.ts'
import { requestSignal } from './http/connection/client-abort.ts'
import { asTransfer, closeGracefully } from './http/connection/graceful-close.ts'
import { createServer } from './http/server.ts'
import { describeDetails } from './log/logger.ts'
import { Redaction } from './log/redaction.ts'
import { createServices, type Services } from './services/index.ts'
import { createAuthentication } from './services/people/authentication.ts'
import type { Settings } from './settings.ts'
import { createStorage } from './storage/index.ts'
import { createNetwork } from './storage/network/index.ts'
import { createFindRecord } from './storage/records.ts'
import { loadAdapters } from './storage/registry.ts'
import { withTimeout } from './timeout.ts'

export interface App {
  server: FastifyInstance
  services: Services
  /** Lets running transfers finish, for some seconds, then frees everything but the database. */
  close(): Promise<void>
}

/** Milliseconds; with what follows, a stop takes less than ten seconds. */
const drainTime = 7000
const closeTime = 1000

export async function buildApp(options: {
  db: Database
  /** From which all keys are derived. */
  secret: string
  /** Accepted beside it. Default: none. */
  previousSecret?: string | null | undefined
  settings: Settings
  log: Logger
  /** What the log redacts; it holds the credentials of providers while they are in use. */
  redaction?: Redaction
  /** Those that come with the server, unless given. */
  adapters?: readonly AdapterDefinition[] | undefined
  /** Milliseconds for what a back end is asked and moves no file content. Default: a minute. */
  metadataTimeout?: number | undefined
  /** Milliseconds for a body that is no upload. Default: half a minute. */
  bodyTimeout?: number | undefined
}): Promise<App> {
  const { db, settings, log, redaction = new Redaction() } = options
  const secrets = deriveSecrets(options.secret, options.previousSecret)
  const adapters = await loadAdapters({
    builtIn: options.adapters ?? builtInAdapters(settings),
    packages: settings.adapterPackages,
    warn: (message, err) => log.warn({ err }, message),
  })
  const onError = (err: unknown) => log.error({ err }, 'Work in the background failed')
  const record = createFindRecord(db)
  const limits = { requestsPerMinute: settings.rateLimit, signIns: settings.signInLimit }
  const authentication = createAuthentication({ db, secrets, record, limits, onError })
  const storage = createStorage({
    db,
    secrets,
    adapters,
    record,
    activeGrants: authentication.activeGrants,
    network: createNetwork({ allow: settings.allowedNetworks, deny: settings.deniedNetworks }),
    redaction,
    warn: (message, details = {}) => log.warn(describeDetails(details), message),
    metadataTimeout: options.metadataTimeout,
    transferTimeout: settings.backEndTimeout * 1000,
  })
  const services = createServices({
    db,
    secrets,
    authentication,
    storage,
    setupCode: settings.setupCode,
    maxUploadBytes: settings.maxUploadBytes,
    directSeconds: settings.directSeconds,
    auditDays: settings.auditDays,
    onError,
    onAuditLoss: loss => log.error(loss, 'Events of the audit log could not be kept'),
  })
  const { bodyTimeout } = options
  const server = await createServer({ services, settings, log, ready: () => requireReady(db), bodyTimeout })
  await registerFrontEnds(server, { services, settings })
  await registerGraphql(server, {
    services,
    facts: {
      viewerOf: request => request.viewer,
      originOf,
      signalOf: requestSignal,
      track: work => asTransfer(server, work),
      baseUrlOf: request => settings.publicUrl ?? `${request.protocol}://${request.host}`,
    },
  })
  return {
    server,
    services,
    async close() {
      await closeGracefully(server, drainTime)
      await services.close()
      // A back end that does not answer must not keep the server from ending.
      await withTimeout(storage.close(), closeTime, () => new Error('A back end does not close in time.')).catch(
        () => {},
      )
    },
  }
}

async function requireReady(db: Database): Promise<void> {
  if (!(await isMigrated(db))) throw new Error('The database is not migrated yet.')
}

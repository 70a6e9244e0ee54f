/** Starts the HTTP server without GraphQL on a loopback port, with a local and a memory provider. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { deriveSecrets } from '../../src/auth/secrets.ts'
import { connect } from '../../src/db/client.ts'
import { registerFrontEnds } from '../../src/endpoints/index.ts'
import { closeGracefully } from '../../src/http/connection/graceful-close.ts'
import { createServer, type ServerOptions } from '../../src/http/server.ts'
import { Redaction } from '../../src/log/redaction.ts'
import { createServices, type Services } from '../../src/services/index.ts'
import { createAuthentication } from '../../src/services/people/authentication.ts'
import type { Settings } from '../../src/settings/index.ts'
import { createStorage } from '../../src/storage/index.ts'
import { createNetwork } from '../../src/storage/network/index.ts'
import { createFindRecord } from '../../src/storage/provider-cache.ts'
import { loadAdapters } from '../../src/storage/registry.ts'
import { testDatabase } from '../servers/postgres.ts'

const databaseConnections = 4

/** The origin of calls that a test makes to the services directly. */
export const testOrigin = { address: '127.0.0.1', requestId: 'of-a-test' }

export interface HttpServer {
  app: FastifyInstance
  services: Services
  /** http://127.0.0.1:<port> */
  url: string
  port: number
  /** The local provider's root. */
  folder: string
  /** The ids of the two providers. */
  local: string
  memory: string
  /** Maps the type of each of `adapters` to its provider's id. */
  others: ReadonlyMap<string, string>
  /** The token of a session of the owner. */
  token: string
  authorization: { authorization: string }
  /** The lines that the server has logged. */
  logs: string[]
  /** Connects a provider and resolves with its id. */
  connect(type: string, config: object): Promise<string>
  /** Makes `/readyz` fail with `sentence` from now on. */
  breakReady(sentence: string): void
  /** Returns the address for an upload to `path`. */
  uploadUrl(path: string, more?: Record<string, string>): string
  downloadUrl(path: string, more?: Record<string, string>): string
  close(): Promise<void>
}

interface HttpOptions {
  /** Bytes. */
  maxUploadBytes?: number
  /** Adds routes for the test. */
  extend?: (app: FastifyInstance) => void
  settings?: Partial<ServerOptions['settings'] & Pick<Settings, 'sendfile'>>
  /** Adapters of the test; each is connected with an empty configuration. */
  adapters?: AdapterDefinition[]
}

export async function startHttp(t: Test, options: HttpOptions = {}): Promise<HttpServer> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-http-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const server = await serve(await testDatabase(t), folder, options)
  t.teardown(server.close)
  return server
}

export async function serve(
  { connectionString }: { connectionString: string },
  folder: string,
  options: HttpOptions = {},
): Promise<HttpServer> {
  const logs: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      logs.push(String(chunk))
      done()
    },
  })
  const db = connect({ connectionString }, { max: databaseConnections })
  // Open all connections now, so that tests which count descriptors see none appear later.
  await Promise.all(Array.from({ length: databaseConnections }, () => sql`select pg_sleep(0.01)`.execute(db)))
  const secrets = deriveSecrets('a secret that only these tests have')
  const own = options.adapters ?? []
  const builtIn = [...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }), ...own]
  const adapters = await loadAdapters({ builtIn, packages: [], warn: () => {} })
  const record = createFindRecord(db)
  const limits = { requestsPerMinute: 0, signIns: 0 }
  const onError = () => {}
  const authentication = createAuthentication({ db, secrets, record, limits, onError })
  const storage = createStorage({
    db,
    secrets,
    adapters,
    record,
    activeGrants: authentication.activeGrants,
    changes: authentication.entryGuard.changes,
    quotas: authentication.quotas.guard,
    network: createNetwork(),
    redaction: new Redaction(),
    warn: () => {},
  })
  const maxUploadBytes = options.maxUploadBytes ?? Number.MAX_SAFE_INTEGER
  const services = createServices({
    db,
    secrets,
    authentication,
    storage,
    redaction: new Redaction(),
    fetch,
    publicFetch: fetch,
    setupCode: null,
    oidc: null,
    ldap: null,
    maxUploadBytes,
    directSeconds: 900,
    scanner: null,
    mail: null,
    push: { isEnabled: false, contact: null },
    auditDays: 0,
    catalogueHours: 0,
    workers: 1,
    dataFolder: folder,
    processes: 1,
    thumbnailBytes: 1024 ** 3,
    searchPath: process.env.PATH ?? '',
    observeJob: (_job, run) => run(),
    onError,
    onAuditLoss: () => {},
    onMailFailure: () => {},
    onResetLoss: () => {},
    onPushFailure: () => {},
    onScanFailure: () => {},
    onScanResult: () => {},
    onDamage: () => {},
  })
  let ready = async () => {}
  const settings = {
    trustedProxies: [],
    connectionLimit: 0,
    stallTimeout: 60,
    corsOrigins: [],
    publicUrl: null,
    sendfile: null,
    basePath: '',
    s3Domain: null,
    ...options.settings,
  }
  const app = await createServer({
    services,
    settings,
    log: pino({ level: 'debug' }, sink),
    ready: () => ready(),
  })
  await registerFrontEnds(app, { services, settings })
  options.extend?.(app)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const email = `owner@example.org`
  const { token } = await services.registration.register(
    { email, password: 'correct horse battery staple' },
    testOrigin,
  )
  const viewer = await services.credentials.authenticate(token, testOrigin)
  const connectProvider = async (type: string, config: object) =>
    (await services.providers.connect(viewer, { type, name: type, config })).id
  const local = await connectProvider('local', { root: folder })
  const memory = await connectProvider('memory', {})
  const others = new Map<string, string>()
  for (const { type } of own) others.set(type, await connectProvider(type, {}))
  const search = (path: string, more: Record<string, string> = {}) =>
    new URLSearchParams({ providerId: local, path, ...more })
  let closing: Promise<void> | undefined
  return {
    app,
    services,
    url,
    port: Number(new URL(url).port),
    folder,
    local,
    memory,
    others,
    token,
    authorization: { authorization: `Bearer ${token}` },
    logs,
    connect: connectProvider,
    breakReady(sentence) {
      ready = async () => {
        throw new Error(sentence)
      }
    },
    uploadUrl: (path, more) => `${url}/api/upload/proxy?${search(path, more)}`,
    downloadUrl: (path, more) => `${url}/api/download/proxy?${search(path, more)}`,
    close() {
      closing ??= (async () => {
        await closeGracefully(app, 1000)
        await services.close()
        await storage.close()
        await db.destroy()
      })()
      return closing
    },
  }
}

import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Services } from '../services/index.ts'
import type { Settings } from '../settings.ts'
import { authenticateRequests } from './authenticate.ts'
import { watchClients } from './connection/abort.ts'
import { boundBodies, defaultBodyLimit, defaultBodyTimeout } from './connection/body-bounds.ts'
import { createClientErrorHandler } from './connection/client-error.ts'
import { refuseWhenClosing } from './connection/close.ts'
import { limitConnections } from './connection/connection-limit.ts'
import { handleExpectations } from './connection/expect.ts'
import { warnOfUntrustedProxy } from './connection/forwarded.ts'
import { requestId } from './connection/request-id.ts'
import { cutStalledClients } from './connection/stall.ts'
import { acceptSessionCookies } from './console/session.ts'
import { refuseLongContentTypes } from './content-type.ts'
import { handleFrameworkError } from './error-handler.ts'
import { sendStandardHeaders } from './headers.ts'
import { registerRoutes } from './index.ts'
import { RequestLogController, requestLog } from './log.ts'
import { refuseUnknownRoutes } from './not-found.ts'
import { handleErrors } from './refusals.ts'

export interface ServerOptions {
  services: Services
  settings: Pick<Settings, 'trustedProxies' | 'connectionLimit' | 'stallTimeout' | 'handOver'>
  log: FastifyBaseLogger
  /** Rejects with a sentence where the server cannot do its work. */
  ready: () => Promise<void>
  /** Milliseconds for a body that is no upload. Default: half a minute. */
  bodyTimeout?: number | undefined
}

/** Bytes of the address and all headers together: a path of 4,096 bytes can take three times that in a URL. */
const maxHeaderSize = 32 * 1024
/** Milliseconds until all headers have arrived. */
const headersTimeout = 30_000
const keepAliveTimeout = 72_000

/** The HTTP server with all routes but GraphQL's, which come into it next; it does not listen yet. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { services, settings, log, ready, bodyTimeout = defaultBodyTimeout } = options
  const clientErrors = createClientErrorHandler(log)
  const app: FastifyInstance = fastify({
    loggerInstance: requestLog(log),
    logController: new RequestLogController(),
    genReqId: requestId,
    trustProxy: settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false,
    bodyLimit: defaultBodyLimit,
    keepAliveTimeout,
    requestTimeout: 0,
    http: { maxHeaderSize, headersTimeout },
    forceCloseConnections: 'idle',
    // Its body would not be in our shape: see refuseWhenClosing.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: (error, socket) => clientErrors.handle(error, socket),
  })
  clientErrors.watch(app.server)
  handleErrors(app, services)
  if (settings.trustedProxies.length === 0) warnOfUntrustedProxy(app, log)
  limitConnections(app, { limit: settings.connectionLimit, trusted: settings.trustedProxies, log })
  boundBodies(app, bodyTimeout)
  watchClients(app)
  cutStalledClients(app, settings.stallTimeout * 1000)
  sendStandardHeaders(app)
  refuseWhenClosing(app)
  await acceptSessionCookies(app)
  authenticateRequests(app, services)
  refuseLongContentTypes(app)
  refuseUnknownRoutes(app)
  handleExpectations(app)
  await registerRoutes(app, { services, ready, handOver: settings.handOver })
  return app
}

/**
 * The HTTP layer of all endpoints: a connection enters this folder, and a request leaves it authenticated, admitted and with a
 * bounded body. Responses pass through it on the way back and get the headers, the errors and the limits that are the same for all endpoints.
 */
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Services } from '../services/index.ts'
import type { Settings } from '../settings/index.ts'
import { admitRequests, defaultBodyLimit } from './admission.ts'
import { authenticateRequests } from './authentication.ts'
import {
  boundBodies,
  checkContentTypes,
  defaultBodyTimeout,
  handleExpectations,
  refuseLongBodies,
} from './connection/body-bounds.ts'
import { watchClients } from './connection/client-abort.ts'
import { createClientErrorHandler, cutStalledClients } from './connection/client-faults.ts'
import { closeUnusedConnections, limitConnections, limitPipelines } from './connection/connections.ts'
import { refuseWhenClosing } from './connection/graceful-close.ts'
import { trustedProxies, warnOfUntrustedProxy } from './connection/proxies.ts'
import { allowOrigins } from './cors.ts'
import { handleErrors, handleFrameworkError, refuseUnknownRoutes } from './error-handler.ts'
import { acceptErrorFormats } from './errors.ts'
import { healthRoutes } from './health.ts'
import { describeRoutes } from './openapi/route.ts'
import { RequestLogController, requestId, requestLog } from './request-log.ts'
import { routeUrl } from './s3-target.ts'
import { acceptSessionCookies } from './session-cookie.ts'
import { sendStandardHeaders } from './standard-headers.ts'
import { addressOf } from './url.ts'

export interface ServerOptions {
  services: Services
  settings: Pick<
    Settings,
    'trustedProxies' | 'connectionLimit' | 'stallTimeout' | 'corsOrigins' | 'publicUrl' | 'basePath' | 's3Domain'
  >
  log: FastifyBaseLogger
  /** Rejects with a sentence that says why the server cannot work now. */
  ready: () => Promise<void>
  /** Milliseconds for a body that is not an upload. Default: 30 seconds. */
  bodyTimeout?: number | undefined
  /** Adds hooks that observe all requests. */
  observe?: ((app: FastifyInstance) => void) | undefined
}

/** Bytes of the URL and all headers together. A path of 4,096 bytes can take three times as many in a URL. */
const maxHeaderSize = 32 * 1024
/** Characters. The longest parameter in a path is a name of 255 bytes, each percent-encoded. */
const maxParamLength = 3 * 255
/** Milliseconds for all headers to arrive. */
const headersTimeout = 30_000
const keepAliveTimeout = 72_000

/**
 * Creates the HTTP server without the routes of the endpoints. It does not listen yet.
 *
 * The hooks of a request run in this order. Each can refuse it, and then no later one runs.
 * - `onRequest`: limit pipelined requests, bound the time of the body, watch the client, start traces, set the standard headers, answer
 *   CORS, refuse while the server closes, authenticate, check the content type, refuse unknown routes and announced bodies that are too
 *   long, and authorize by the rule of the route
 * - `preParsing`: take a slot and memory of the member, bound the time and size of the body, send `100 Continue`
 * - parsing of the body, which `admission.ts` reads
 * - `preValidation`: wait for a turn
 * - `preHandler`: confirm the credential, which may have been revoked while the body arrived
 * - `onSend`: give the turn back, and count the response until the client has read it
 */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { services, settings, log, ready, bodyTimeout = defaultBodyTimeout, observe } = options
  const isProxy = trustedProxies(settings.trustedProxies)
  const clientErrors = createClientErrorHandler(log)
  const app: FastifyInstance = fastify({
    loggerInstance: requestLog(log),
    logController: new RequestLogController(),
    genReqId: requestId,
    trustProxy: settings.trustedProxies.length > 0 && isProxy,
    bodyLimit: defaultBodyLimit,
    keepAliveTimeout,
    requestTimeout: 0,
    routerOptions: { maxParamLength },
    http: { maxHeaderSize, headersTimeout },
    forceCloseConnections: 'idle',
    // Fastify's own response would not have the shape of our errors, so refuseWhenClosing sends it.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    rewriteUrl: request => routeUrl(request, addressOf(request, isProxy(request.socket.remoteAddress)), settings),
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: (error, socket) => clientErrors.handle(error, socket),
  })
  watchClients(app)
  acceptErrorFormats(app)
  handleErrors(app, services)
  if (settings.trustedProxies.length === 0) warnOfUntrustedProxy(app, log)
  limitConnections(app, { limit: settings.connectionLimit, isProxy, log })
  limitPipelines(app)
  admitRequests(app)
  boundBodies(app, bodyTimeout)
  cutStalledClients(app, settings.stallTimeout * 1000)
  observe?.(app)
  sendStandardHeaders(app)
  allowOrigins(app, settings.corsOrigins)
  refuseWhenClosing(app)
  closeUnusedConnections(app)
  await acceptSessionCookies(app)
  authenticateRequests(app, services)
  checkContentTypes(app)
  refuseUnknownRoutes(app)
  refuseLongBodies(app)
  handleExpectations(app)
  describeRoutes(app, settings.basePath)
  healthRoutes(app, ready)
  return app
}

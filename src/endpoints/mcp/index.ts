/**
 * The route of the Model Context Protocol. It checks the request and loads `endpoint.ts`, which answers the message with one
 * of the `tools/`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { requireViewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { acceptTokensFor, authenticateUnknownBelow } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { logError } from '../../http/error-handler.ts'
import { formatErrorsBelow } from '../../http/errors.ts'
import { parseJsonBody } from '../../http/json.ts'
import type { Services } from '../../services/index.ts'
import type { Settings } from '../../settings/index.ts'
import { formatMcpError } from './challenge.ts'
import type { McpCall } from './tool.ts'

const mcpPath = '/mcp'
/** Bytes of a body. */
const maxBody = 1024 * 1024
/** The maximum number of values in a body. The library takes microseconds for each, all at once. */
const maxValues = 2000

/**
 * Adds `POST /mcp`, the Model Context Protocol over HTTP
 * (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http). It keeps no sessions: each
 * request has a credential and gets one response. Without a route for them, GET and DELETE return 405, as the protocol
 * requires of a server that has no streams and no sessions.
 */
export async function registerMcp(
  app: FastifyInstance,
  services: Services,
  settings: Pick<Settings, 'publicUrl' | 'corsOrigins'>,
): Promise<void> {
  formatErrorsBelow(app, mcpPath, (error, request) => formatMcpError(error, request, settings.publicUrl))
  // Clients look for a stream with GET, and must learn that there is none.
  authenticateUnknownBelow(app, mcpPath, acceptTokensFor('MCP', services))
  await app.register(async scope => mcpRoute(scope, services, settings))
}

function mcpRoute(
  app: FastifyInstance,
  services: Services,
  settings: Pick<Settings, 'publicUrl' | 'corsOrigins'>,
): void {
  const requireAllowedOrigin = originCheck(settings)
  // Loading the library takes memory and time, which most installations never need.
  let loaded: Promise<typeof import('./endpoint.ts')> | undefined
  const load = () => {
    loaded ??= import('./endpoint.ts')
    return loaded
  }
  const authorize = (request: FastifyRequest) => {
    requireAllowedOrigin(request.headers.origin)
    // Every tool needs this scope at least.
    requireScope(request.viewer, 'read')
  }
  const body = { kind: 'parsed', maxBytes: maxBody, type: 'application/json', authorize } as const
  const config = { ignoresCookie: true, authenticate: acceptTokensFor('MCP', services), body } as const
  app.post<{ Body: Buffer | undefined }>(mcpPath, { config }, async (request, reply) => {
    const call = callOf(request, services)
    const { serve } = await load()
    const response = await asTransfer(app, serve(call, await parseJsonBody(request.body ?? Buffer.alloc(0), maxValues)))
    call.signal.throwIfAborted()
    if (call.refusal) throw call.refusal
    const type = response.headers.get('content-type')
    if (type !== null) reply.header('Content-Type', type)
    return reply.code(response.status).send(Buffer.from(await response.arrayBuffer()))
  })
}

function callOf(request: FastifyRequest, services: Services): McpCall {
  return {
    services,
    viewer: requireViewer(request.viewer),
    signal: requestSignal(request),
    requestId: request.id,
    headers: request.headers,
    refusal: null,
    report: error => logError(error, request),
    reportFault: err => request.log.error({ err }, 'The MCP library failed'),
  }
}

/**
 * Returns a check of the `Origin` header, which the protocol requires against DNS rebinding: a page of another site could
 * otherwise reach a server in the reader's own network under the name of that site. Only browsers send the header.
 */
function originCheck({ publicUrl, corsOrigins }: Pick<Settings, 'publicUrl' | 'corsOrigins'>) {
  const allowed = new Set(corsOrigins === '*' ? [] : corsOrigins)
  if (publicUrl !== null) allowed.add(new URL(publicUrl).origin)
  /** @throws ORIGIN_NOT_ALLOWED */
  return (origin: string | undefined): void => {
    if (origin === undefined || corsOrigins === '*' || allowed.has(origin)) return
    throw new AppError(
      'ORIGIN_NOT_ALLOWED',
      'This origin may not call the server: add it to STOWAGE_CORS_ORIGINS, or call from outside of a browser.',
    )
  }
}

import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireViewer } from '../auth/viewer.ts'
import { requestSignal } from '../http/connection/client-abort.ts'
import { asTransfer } from '../http/connection/graceful-close.ts'
import { logError } from '../http/error-handler.ts'
import type { Services } from '../services/index.ts'
import type { Settings } from '../settings.ts'
import type { McpCall } from './call.ts'
import { OpenCalls } from './open-calls.ts'
import { originCheck } from './origin.ts'

/** Bytes of a body. */
const maxBody = 1024 * 1024

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
  await app.register(async scope => mcpRoute(scope, services, settings))
}

function mcpRoute(
  app: FastifyInstance,
  services: Services,
  settings: Pick<Settings, 'publicUrl' | 'corsOrigins'>,
): void {
  const requireAllowedOrigin = originCheck(settings)
  const openCalls = new OpenCalls()
  // Loading the library takes memory and time, which most installations never need.
  let loaded: Promise<typeof import('./endpoint.ts')> | undefined
  const load = () => {
    loaded ??= import('./endpoint.ts')
    return loaded
  }
  app.addHook('onRequest', async request => {
    requireAllowedOrigin(request.headers.origin)
    requireViewer(request.viewer)
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, parseJson(Buffer.isBuffer(body) ? body : Buffer.from(body)))
  })
  app.post('/mcp', { bodyLimit: maxBody, config: { ignoresCookie: true } }, async (request, reply) => {
    const call = callOf(request, services)
    openCalls.count(call.viewer.member.userId, request, reply)
    const { serve } = await load()
    const response = await asTransfer(app, serve(call, request.body))
    call.signal.throwIfAborted()
    if (call.lostCredential) throw call.lostCredential
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
    lostCredential: null,
    report: error => logError(error, request),
    reportFault: err => request.log.error({ err }, 'The MCP library failed'),
  }
}

/** Returns undefined for anything but JSON in UTF-8. */
function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

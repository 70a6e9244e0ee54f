/** Ends the work for a request when its client disconnects, and cuts a response that cannot be completed. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'

/** The client disconnected before the response was complete. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The response that `requestSignal` watches. */
    response: ServerResponse | null
  }
}

const controllers = new WeakMap<IncomingMessage, AbortController>()

/** Makes `requestSignal` work in all routes. Call this before you add any route. */
export function watchClients(app: FastifyInstance): void {
  app.decorateRequest('response', null)
  // Each pipelined request adds a listener, so Node's warning about eleven listeners would be a false alarm.
  app.server.on('connection', socket => socket.setMaxListeners(0))
  app.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw
    done()
  })
}

/** Returns a signal that aborts when the client disconnects before the response is complete. Pass it to all work. */
export function requestSignal(request: FastifyRequest): AbortSignal {
  const known = controllers.get(request.raw)
  if (known) return known.signal
  const controller = new AbortController()
  controllers.set(request.raw, controller)
  const { response } = request
  const { socket } = request.raw
  const abort = () => controller.abort(new ClientGone('The client closed the connection'))
  if (!response || socket.destroyed) {
    abort()
    return controller.signal
  }
  // A response that waits behind others in a pipeline has no socket yet and never emits `close`.
  socket.once('close', abort)
  response.once('close', () => {
    socket.off('close', abort)
    if (!response.writableFinished) abort()
  })
  return controller.signal
}

/** Aborts the work for a request. @param reason becomes the response @returns false if no work has a signal */
export function abortWork(request: IncomingMessage, reason: Error): boolean {
  const controller = controllers.get(request)
  controller?.abort(reason)
  return controller !== undefined
}

/**
 * Ends a response whose headers were sent. Cutting the connection tells the client that the content is incomplete. Errors of
 * hijacked replies end here: one that reaches Fastify is logged as a fault, even if only the client has gone.
 * @param signal the signal that the response was made under
 */
export function cutResponse({ request, raw: response }: FastifyReply, error: unknown, signal: AbortSignal): void {
  const why = signal.aborted ? signal.reason : error
  const isRefused = why instanceof AppError && why.status < 500
  // A reset discards the bytes that are still queued; they must not be sent any more.
  if (isRefused) response.socket?.resetAndDestroy()
  response.destroy()
  const { log } = request
  if (why instanceof ClientGone) log.info({ req: request }, 'the client disconnected during a response')
  else if (isRefused) log.info({ req: request, reason: why.reason }, 'a response was cut because its grant ended')
  else log.error({ req: request, err: why }, 'a response was cut by an error')
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** The client went away before its answer was complete. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What `requestSignal` watches. */
    response: ServerResponse | null
  }
}

const controllers = new WeakMap<IncomingMessage, AbortController>()

/** To be called before any route, so that `requestSignal` works in all of them. */
export function watchClients(app: FastifyInstance): void {
  app.decorateRequest('response', null)
  // One listener for each request that waits in a pipeline: Node's warning at eleven would be a false alarm.
  app.server.on('connection', socket => socket.setMaxListeners(0))
  app.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw
    done()
  })
}

/** Aborts when the client goes away before it has the whole answer: all work for a request runs under it. */
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
  // A response that waits behind others in a pipeline has no socket yet and never hears of its end.
  socket.once('close', abort)
  response.once('close', () => {
    socket.off('close', abort)
    if (!response.writableFinished) abort()
  })
  return controller.signal
}

/** Ends the work for a request with what it is to be answered. False where there is none that could be ended. */
export function abortWork(request: IncomingMessage, reason: Error): boolean {
  const controller = controllers.get(request)
  controller?.abort(reason)
  return controller !== undefined
}

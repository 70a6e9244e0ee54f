import type { FastifyRequest } from 'fastify'

/** The client went away before its answer was complete. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

const signals = new WeakMap<FastifyRequest, AbortSignal>()

/** Aborts when the client goes away: all work for a request runs under it. */
export function requestSignal(request: FastifyRequest): AbortSignal {
  const known = signals.get(request)
  if (known) return known
  const controller = new AbortController()
  const { socket } = request.raw
  const abort = () => controller.abort(new ClientGone('The client closed the connection'))
  if (socket.destroyed) abort()
  else socket.once('close', abort)
  signals.set(request, controller.signal)
  return controller.signal
}

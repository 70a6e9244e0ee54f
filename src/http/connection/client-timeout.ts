import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import { abortWork } from './client-abort.ts'
import { isBodyComing } from './lingering-close.ts'

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  /** Since when the body is read from, as far as it comes. */
  readSince: number
  isTold: boolean
}

/**
 * Cuts who takes nothing of an answer, or sends nothing of a body that is waited for, for `timeout` milliseconds. Any
 * byte that the system takes or has counts, so a client that is only slow goes on; and what waits for a back end is not
 * the client's doing. An upload is answered INCOMPLETE_BODY first.
 */
export function cutStalledClients({ server }: FastifyInstance, timeout: number): void {
  const exchanges = new WeakMap<Socket, Exchange>()
  server.prependListener('request', (request, response) => {
    const exchange: Exchange = { request, response, readSince: performance.now(), isTold: false }
    exchanges.set(request.socket, exchange)
    if (!isBodyComing(request)) return
    request.on('resume', () => {
      exchange.readSince = performance.now()
    })
  })
  // The system's own clock of a socket: it starts again with each byte in either direction, also in the middle of a chunk.
  server.setTimeout(timeout, (socket: Socket) => {
    const exchange = exchanges.get(socket)
    // Kept alive for long enough, or its buffers are full.
    if (!exchange || exchange.response.writableFinished || socket.writableLength > 0) {
      socket.destroy()
      return
    }
    const { request, readSince } = exchange
    if (isBodyComing(request) && request.readableFlowing === true && performance.now() - readSince >= timeout) {
      const error = new AppError('INCOMPLETE_BODY', `Nothing of the body came for ${timeout / 1000} seconds.`)
      if (exchange.isTold || !abortWork(request, error)) {
        socket.destroy()
        return
      }
      exchange.isTold = true
    }
    socket.setTimeout(timeout)
  })
}

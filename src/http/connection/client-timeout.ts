import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import { abortWork } from './client-abort.ts'
import { isBodyComing } from './lingering-close.ts'

interface OpenExchange {
  request: IncomingMessage
  response: ServerResponse
  /** The time (`performance.now()`) at which the route last started or resumed reading the body. */
  readSince: number
  hasError: boolean
}

/**
 * Disconnects a client that reads no byte of a response, or sends no byte of a body that the server waits for, for
 * `timeout` milliseconds. Every byte restarts the timeout, so a slow client is not affected. Time spent waiting for a back
 * end does not count. An upload fails with INCOMPLETE_BODY first.
 */
export function cutStalledClients({ server }: FastifyInstance, timeout: number): void {
  const exchanges = new WeakMap<Socket, OpenExchange>()
  server.prependListener('request', (request, response) => {
    const exchange: OpenExchange = { request, response, readSince: performance.now(), hasError: false }
    exchanges.set(request.socket, exchange)
    if (!isBodyComing(request)) return
    request.on('resume', () => {
      exchange.readSince = performance.now()
    })
  })
  // The socket's own timeout restarts with each byte in either direction, even in the middle of a chunk.
  server.setTimeout(timeout, (socket: Socket) => {
    const exchange = exchanges.get(socket)
    // The connection was idle, or the client does not read the response.
    if (!exchange || exchange.response.writableFinished || socket.writableLength > 0) {
      socket.destroy()
      return
    }
    const { request, readSince } = exchange
    if (isBodyComing(request) && request.readableFlowing === true && performance.now() - readSince >= timeout) {
      const error = new AppError('INCOMPLETE_BODY', `No byte of the body arrived for ${timeout / 1000} seconds.`)
      if (exchange.hasError || !abortWork(request, error)) {
        socket.destroy()
        return
      }
      exchange.hasError = true
    }
    socket.setTimeout(timeout)
  })
}

/** Handles clients that send invalid HTTP, and clients that stop sending or reading. */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { AppError, publicError } from '../../errors.ts'
import { type Exchange, exchangeOf, latestExchange } from './client-abort.ts'
import { isBodyComing } from './lingering-close.ts'

/** Milliseconds for the client to read the error. */
const closeDelay = 1000

/** Reports invalid HTTP in the same shape as all errors, without interrupting a response that is being sent. */
export function createClientErrorHandler(log: FastifyBaseLogger) {
  const failed = new WeakSet<Socket>()

  function sendError(socket: Socket, error: Error & { code?: string }): void {
    const { status, problem } = describe(error)
    const id = randomUUID()
    log.info({ requestId: id, code: error.code }, problem.message)
    const body = JSON.stringify({ errors: [publicError(problem, id)] })
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'X-Content-Type-Options: nosniff',
      `X-Request-Id: ${id}`,
    ]
    closeSoon(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
  }

  return {
    handle(error: Error & { code?: string }, socket: Socket): void {
      if (socket.destroyed) return
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy()
        return
      }
      // The parser emits an error for every later chunk, too.
      if (failed.has(socket)) return
      failed.add(socket)
      const exchange = latestExchange(socket)
      if (!exchange || exchange.response.writableFinished) sendError(socket, error)
      else if (exchange.request.complete) exchange.response.once('close', () => closeSoon(socket))
      else if (!exchange.response.headersSent) sendError(socket, error)
      else socket.destroy()
    },
  }
}

function closeSoon(socket: Socket, last = ''): void {
  if (socket.destroyed) return
  socket.end(last)
  // Destroying a socket with unread bytes resets the connection, and the client might not see the response.
  const timer = setTimeout(() => socket.destroy(), closeDelay).unref()
  socket.once('close', () => clearTimeout(timer))
}

function describe({ code }: { code?: string }): { status: number; problem: AppError } {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { status: 431, problem: new AppError('INVALID_INPUT', 'The URL and the headers are too long.') }
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, problem: new AppError('INCOMPLETE_BODY', 'The request did not arrive in time.') }
  }
  if (code === 'HPE_INVALID_EOF_STATE') {
    return { status: 400, problem: new AppError('INCOMPLETE_BODY', 'The request ended before it was complete.') }
  }
  return { status: 400, problem: new AppError('INVALID_INPUT', 'This is not a valid HTTP request.') }
}

/**
 * Disconnects a client that reads no byte of a response, or sends no byte of a body that the server waits for, for
 * `timeout` milliseconds. Every byte restarts the timeout, so a slow client is not affected. Time spent waiting for a back
 * end does not count. An upload fails with INCOMPLETE_BODY first.
 */
export function cutStalledClients({ server }: FastifyInstance, timeout: number): void {
  const failed = new WeakSet<Exchange>()
  server.on('request', request => {
    if (!isBodyComing(request)) return
    const exchange = exchangeOf(request)
    request.on('resume', () => {
      exchange.readSince = performance.now()
    })
  })
  // The socket's own timeout restarts with each byte in either direction, even in the middle of a chunk.
  server.setTimeout(timeout, (socket: Socket) => {
    const exchange = latestExchange(socket)
    // The connection was idle, or the client does not read the response.
    if (!exchange || exchange.response.writableFinished || socket.writableLength > 0) {
      socket.destroy()
      return
    }
    const { request, readSince } = exchange
    if (isBodyComing(request) && request.readableFlowing === true && performance.now() - readSince >= timeout) {
      const error = new AppError('INCOMPLETE_BODY', `No byte of the body arrived for ${timeout / 1000} seconds.`)
      if (failed.has(exchange) || !exchange.abort(error)) {
        socket.destroy()
        return
      }
      failed.add(exchange)
    }
    socket.setTimeout(timeout)
  })
}

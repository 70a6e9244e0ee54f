import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { AppError, publicError } from '../../errors.ts'

/** Milliseconds for the client to read the error. */
const closeDelay = 1000

interface LatestExchange {
  request: IncomingMessage
  response: ServerResponse
}

/** Reports invalid HTTP in the same shape as all errors, without interrupting a response that is being sent. */
export function createClientErrorHandler(log: FastifyBaseLogger) {
  const latest = new WeakMap<Socket, LatestExchange>()
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
    watch(server: Server): void {
      server.prependListener('request', (request, response) => latest.set(request.socket, { request, response }))
    },

    handle(error: Error & { code?: string }, socket: Socket): void {
      if (socket.destroyed) return
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy()
        return
      }
      // The parser emits an error for every later chunk, too.
      if (failed.has(socket)) return
      failed.add(socket)
      const exchange = latest.get(socket)
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

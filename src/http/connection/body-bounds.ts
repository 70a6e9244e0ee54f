/** Bounds the type, the length and the time of the body of each request. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError } from '../../errors.ts'
import { bodyLength, isFile } from '../admission.ts'
import { type Exchange, exchangeOf } from './client-abort.ts'
import { isBodyComing } from './lingering-close.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route decides when the client may send its body: see `continueOnRead`. */
    continuesLater?: true
  }
  interface FastifyInstance {
    /** Milliseconds from the headers to the end of a body that is not an upload. */
    bodyTimeout: number
  }
}

/** Milliseconds from the headers to the end of the body. */
export const defaultBodyTimeout = 30_000
/**
 * Milliseconds after the response, or after the timeout of the body, until a connection whose body has not ended is
 * closed.
 */
const closeDelay = 2000

/**
 * Bounds the time of every body, even if the route does not read it, unless the body is a file. Register it before the hooks that refuse
 * requests, so that it covers these, too.
 */
export function boundBodies(app: FastifyInstance, timeout: number): void {
  app.decorate('bodyTimeout', timeout)
  // One timer for all bodies: most have arrived long before it would end. The first to arrive is the first to be late.
  const incoming = new Set<Exchange>()
  let isTimerSet = false
  const startTimer = (delay: number) => {
    isTimerSet = true
    setTimeout(findLate, delay).unref()
  }
  const findLate = () => {
    isTimerSet = false
    for (const exchange of incoming) {
      if (!exchange.request.complete) {
        const remaining = exchange.begunAt + timeout - performance.now()
        if (remaining > 0) return startTimer(remaining)
        exchange.onLateBody?.()
        closeAfter(exchange.request, closeDelay)
      }
      incoming.delete(exchange)
    }
  }
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request
    if (isBodyComing(raw)) {
      const exchange = exchangeOf(raw)
      exchange.atEnd(() => {
        if (!raw.complete) closeAfter(raw, closeDelay)
        else incoming.delete(exchange)
      })
      if (!isFile(request)) {
        incoming.add(exchange)
        if (!isTimerSet) startTimer(timeout)
      }
    }
    done()
  })
}

/** Refuses bodies that are announced as too long for their routes. Register it after authentication. */
export function refuseLongBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { bodyLimit } = request.routeOptions
    const length = bodyLength(request, bodyLimit)
    if (length <= bodyLimit || isFile(request)) done()
    else done(new AppError('TOO_LARGE', `The body has ${length} bytes; this endpoint accepts at most ${bodyLimit}.`))
  })
}

/** Closes the connection unless the body ends in time. */
function closeAfter(request: IncomingMessage, delay: number): void {
  if (request.complete || request.socket.destroyed) return
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy()
  }, delay).unref()
  // A listener on the socket would keep the request for as long as the connection stays open.
  request.once('close', () => clearTimeout(timer))
}

/**
 * Characters. A boundary has at most 70 characters (RFC 2046, section 5.1.1), a name at most 127 (RFC 6838, section
 * 4.2).
 */
const maxLength = 500

/**
 * Refuses a long `Content-Type` before any library parses it: Node's `MIMEType` takes quadratic time for spaces. An empty one
 * counts as missing.
 */
export function checkContentTypes(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const { length } = headers['content-type'] ?? ''
    if (length === 0) delete headers['content-type']
    if (length <= maxLength) done()
    else done(new AppError('UNSUPPORTED_MEDIA_TYPE', `A Content-Type can have at most ${maxLength} characters.`))
  })
}

/**
 * Sends "100 Continue" only when the body is read (RFC 9110, section 10.1.1), so that a client that asks first can be
 * refused before it sends the body. Node would send it immediately.
 */
export function handleExpectations(app: FastifyInstance): void {
  const { server } = app
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // The server may ignore any other expectation.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.routeOptions.config.continuesLater !== true) sendContinue(request.raw, reply)
    done()
  })
}

/** Sends "100 Continue" when the body is first read. */
export function continueOnRead(request: IncomingMessage, reply: FastifyReply): void {
  if (awaitsContinue(request)) request.once('resume', () => sendContinue(request, reply))
}

function sendContinue(request: IncomingMessage, { raw }: FastifyReply): void {
  if (awaitsContinue(request) && !raw.headersSent) raw.writeContinue()
}

/** Returns whether the client sends the body only after "100 Continue". */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}

import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { detach } from '../../storage/pipe-body.ts'
import { AnonymousBodies } from './anonymous-bodies.ts'
import { isBodyComing } from './lingering-close.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Milliseconds from the headers to the end of a body that is not an upload. */
    bodyTimeout: number
  }
  interface FastifyContextConfig {
    /**
     * The route reads a file from the body, so only the limits of uploads apply to its size and time. A route whose requests
     * differ has a function.
     */
    streamsBody?: true | ((request: FastifyRequest) => boolean)
  }
}

/** Bytes of a body, unless the route sets `bodyLimit`. */
export const defaultBodyLimit = 16 * 1024
/** Milliseconds from the headers to the end of the body. */
export const defaultBodyTimeout = 30_000
/**
 * Milliseconds after the response, or after the timeout of the body, until a connection whose body has not ended is
 * closed.
 */
const closeDelay = 2000

/**
 * Bounds the size and the time of every body, even if the route does not read it, and the sum of the large ones that
 * clients without an account are sending. Only `streamsBody` lifts these bounds. Register it before any other hook, so that it also
 * covers requests that those refuse.
 */
export function boundBodies(app: FastifyInstance, timeout: number): void {
  app.decorate('bodyTimeout', timeout)
  const anonymousBodies = new AnonymousBodies()
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    if (isBodyComing(raw)) {
      reply.raw.once('close', () => closeAfter(raw, closeDelay))
      if (!streamsBody(request)) closeAfter(raw, timeout + closeDelay)
    }
    done()
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { raw, routeOptions } = request
    if (streamsBody(request)) return done(null, payload)
    const { bodyLimit } = routeOptions
    // A body in chunks has no declared length.
    const length = Number(raw.headers['content-length'] ?? bodyLimit)
    if (length > bodyLimit) {
      return done(
        new AppError('TOO_LARGE', `The body has ${length} bytes; this endpoint accepts at most ${bodyLimit}.`),
      )
    }
    if (!isBodyComing(raw)) return done(null, payload)
    const refusal =
      length > defaultBodyLimit && !hasAccount(request) ? anonymousBodies.admit(request, reply, length) : null
    if (refusal) return done(refusal)
    const body = detach(raw)
    const timer = setTimeout(() => {
      body.destroy(new AppError('INCOMPLETE_BODY', `The body did not arrive within ${timeout / 1000} seconds.`))
    }, timeout)
    body.once('close', () => clearTimeout(timer))
    // A refused request never reads its body.
    reply.raw.once('close', () => clearTimeout(timer))
    done(null, body)
  })
}

function streamsBody(request: FastifyRequest): boolean {
  const streams = request.routeOptions.config?.streamsBody
  return typeof streams === 'function' ? streams(request) : streams === true
}

/** Returns whether the client is known to be a member. The recipients of a share link are not. */
function hasAccount({ viewer }: FastifyRequest): boolean {
  return viewer !== null && viewer.shared === null
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

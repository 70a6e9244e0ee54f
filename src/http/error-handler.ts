import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AppError, publicError } from '../errors.ts'
import { ClientGone } from './connection/client-abort.ts'
import { isBodyComing, lingering } from './connection/lingering-close.ts'
import { fromHttp } from './errors.ts'
import { setStandardHeaders } from './standard-headers.ts'

/** Seconds to wait where the cause has not said. */
const defaultRetryAfter = 5

/** One shape for all that goes wrong: `{ "errors": [ { message, extensions } ] }`. */
export function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (isGone(thrown, reply)) {
    request.log.info({ req: request }, 'the client went away before its answer')
    reply.raw.destroy()
    return
  }
  const error = fromHttp(thrown)
  logError(error, request)
  sendError(error, request, reply)
}

/** For what fails before any hook runs, such as an address that cannot be decoded. */
export function handleFrameworkError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  setStandardHeaders(request, reply)
  handleError(thrown, request, reply)
}

function sendError(error: AppError, request: FastifyRequest, reply: FastifyReply): void {
  const body = Buffer.from(JSON.stringify({ errors: [publicError(error, request.id)] }))
  reply.status(error.status).header('Content-Type', 'application/json; charset=utf-8')
  // As they were meant for what now fails.
  reply.removeHeader('ETag').removeHeader('Last-Modified').removeHeader('Content-Disposition')
  reply.header('Cache-Control', 'no-store')
  if (error.status === 401) reply.header('WWW-Authenticate', 'Bearer')
  const seconds = retryAfter(error)
  if (seconds !== null) reply.header('Retry-After', String(seconds))
  if (!isBodyComing(request.raw)) {
    reply.send(body)
    return
  }
  reply.header('Connection', 'close').header('Content-Length', String(body.length))
  reply.send(Readable.from(lingering(body, request.raw), { objectMode: false }))
}

/** A stream that was ended by the signal says so in words of its own. */
function isGone(thrown: unknown, { raw }: FastifyReply): boolean {
  return thrown instanceof ClientGone || (raw.destroyed && thrown instanceof Error && thrown.name === 'AbortError')
}

/** Whole seconds; null where waiting is not what helps. */
function retryAfter({ status, retryAfterMs }: AppError): number | null {
  if (retryAfterMs !== undefined) return Math.max(1, Math.ceil(retryAfterMs / 1000))
  return status === 503 || status === 429 ? defaultRetryAfter : null
}

export function logError(error: AppError, request: FastifyRequest): void {
  const details = { req: request, reason: error.reason, err: error.status >= 500 ? error : undefined }
  if (error.status >= 500) request.log.error(details, error.message)
  else request.log.info(details, error.message)
}

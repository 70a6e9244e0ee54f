import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../errors.ts'
import { ClientGone } from './connection/client-abort.ts'
import { isBodyComing, lingering } from './connection/lingering-close.ts'
import { formatError } from './error-formats.ts'
import { fromHttp } from './errors.ts'
import { setStandardHeaders } from './standard-headers.ts'

/** The seconds in Retry-After if the error does not state a time. */
const defaultRetryAfter = 5

/** Sends every error in one shape, `{ "errors": [ { message, extensions } ] }`, or in that of the front end's protocol. */
export function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (isClientGone(thrown, reply)) {
    request.log.info({ req: request }, 'the client disconnected before the response')
    reply.raw.destroy()
    return
  }
  const error = fromHttp(thrown)
  logError(error, request)
  sendError(error, request, reply)
}

/** Handles errors that occur before any hook runs, such as a URL that cannot be decoded. */
export function handleFrameworkError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  setStandardHeaders(request, reply)
  handleError(thrown, request, reply)
}

function sendError(error: AppError, request: FastifyRequest, reply: FastifyReply): void {
  const response = formatError(error, request)
  const body = Buffer.from(response.body)
  reply.status(response.status).headers(response.headers)
  // The route may have set these for the content that it cannot send.
  reply.removeHeader('ETag').removeHeader('Last-Modified').removeHeader('Content-Disposition')
  reply.header('Cache-Control', 'no-store')
  const seconds = retryAfter(error)
  if (seconds !== null) reply.header('Retry-After', String(seconds))
  const send = () => {
    if (!isBodyComing(request.raw)) reply.send(body)
    else {
      reply.header('Connection', 'close').header('Content-Length', String(body.length))
      reply.send(Readable.from(lingering(body, request.raw), { objectMode: false }))
    }
  }
  // A short body that came with the headers has been parsed in the next turn. The connection then stays open.
  if (isBodyComing(request.raw)) setImmediate(send)
  else send()
}

/** A stream that a signal aborts fails with an AbortError instead of the signal's reason. */
function isClientGone(thrown: unknown, { raw }: FastifyReply): boolean {
  return thrown instanceof ClientGone || (raw.destroyed && thrown instanceof Error && thrown.name === 'AbortError')
}

/** Returns whole seconds; null if waiting does not help. */
function retryAfter({ status, retryAfterMs }: AppError): number | null {
  if (retryAfterMs !== undefined) return Math.max(1, Math.ceil(retryAfterMs / 1000))
  return status === 503 || status === 429 ? defaultRetryAfter : null
}

export function logError(error: AppError, request: FastifyRequest): void {
  const details = { req: request, reason: error.reason, err: error.status >= 500 ? error : undefined }
  if (error.status >= 500) request.log.error(details, error.message)
  else request.log.info(details, error.message)
}

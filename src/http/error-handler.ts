/**
 * Handles the errors of requests: records refusals in the audit log, logs, and sends a response while the client may still
 * send its body. Refuses URLs and methods that no route has.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuditAction } from '../db/schema.ts'
import { AppError } from '../errors.ts'
import type { AuditFacts } from '../services/audit/index.ts'
import type { Services } from '../services/index.ts'
import { ClientGone } from './connection/client-abort.ts'
import { isBodyComing, lingering } from './connection/lingering-close.ts'
import { formatError, fromHttp } from './errors.ts'
import { setStandardHeaders } from './standard-headers.ts'
import { splitUrl } from './url.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action that the audit log records if the route refuses a request. Default: READ. */
    audit?: AuditAction
  }
  interface FastifyRequest {
    /** The locations that the request names, if they are not in its query. */
    named: AuditFacts | null
    /** The action that the audit log records if the route refuses the request, if requests of the route differ. */
    refusedAction: AuditAction | null
  }
}

/** Handles errors. If a route refuses a request before it calls a service, the refusal is recorded in the audit log. */
export function handleErrors(app: FastifyInstance, { audit }: Services): void {
  app.decorateRequest('named', null)
  app.decorateRequest('refusedAction', null)
  app.setErrorHandler((thrown, request, reply) => {
    if (thrown instanceof AppError && thrown.code === 'FORBIDDEN') {
      const action = request.refusedAction ?? request.routeOptions.config?.audit ?? 'READ'
      audit.noteRefusal(
        request.viewer,
        action,
        { ...locationIn(request), details: { route: routeOf(request) } },
        thrown,
      )
    }
    handleError(thrown, request, reply)
  })
}

function locationIn({ raw, named }: FastifyRequest): AuditFacts {
  if (named) return named
  const query = new URLSearchParams(raw.url?.split('?', 2)[1] ?? '')
  const providerId = query.get('providerId')
  return providerId === null ? {} : { location: { providerId, path: query.get('path') ?? undefined } }
}

function routeOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? ''}`
}

/** The seconds in Retry-After if the error does not state a time. */
const defaultRetryAfter = 5

/** Sends every error in one shape, `{ "errors": [ { message, extensions } ] }`, or in that of the front end's protocol. */
function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
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
  // A quota that is used up is no fault. A full back end is one, and its error has a cause.
  const isQuota = error.reason === 'QUOTA_EXCEEDED' && error.cause === undefined
  const isFault = error.status >= 500 && !isQuota
  const details = { req: request, reason: error.reason, err: isFault ? error : undefined }
  if (isFault) request.log.error(details, error.message)
  else request.log.info(details, error.message)
}

/** Returns 404, or 405 if the route has other methods, before the body is read. Call this before you add any route. */
export function refuseUnknownRoutes(app: FastifyInstance): void {
  // Runs if a route calls `reply.callNotFound()`, as sending a missing static file does.
  app.setNotFoundHandler(() => {
    throw nothingHere()
  })
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    for (const name of [method].flat()) known.add(name)
    methods.set(url, known)
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) {
      done()
      return
    }
    const [path] = splitUrl(request.url)
    const allowed = methods.get(path) ?? methods.get(wildcardOf(path))
    if (allowed) {
      reply.header('Allow', [...allowed].join(', '))
      done(new AppError('METHOD_NOT_ALLOWED', `This endpoint accepts ${[...allowed].join(', ')}.`))
    } else done(nothingHere())
  })
}

/** Returns the pattern of the route that matches all paths below the first segment, such as `/dav/*`. */
function wildcardOf(path: string): string {
  return `${path.slice(0, path.indexOf('/', 1) + 1)}*`
}

export function nothingHere(): AppError {
  return new AppError('NOT_FOUND', 'Nothing exists at this URL.')
}

/** The log of requests: one line for each, under its ID and without its secrets. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify'
import { redactTokens } from '../auth/api-key.ts'

/** The query parameters to log if their values match. Anything else may be a credential. */
const loggedParameters = new Map([
  ['providerId', /^[\da-f-]{36}$/],
  ['path', /^/],
  ['conflict', /^[a-z]{1,10}$/],
  ['disposition', /^[a-z]{1,10}$/],
])
/** The maximum number of query parameters to log. With more, a line would be many times as long as its request. */
const maxLoggedParameters = 32
/** The only properties of a request's log lines. Plugins use the same logger and would log whole headers. */
const loggedFacts = new Set(['req', 'res', 'err', 'reason', 'ms', 'path', 'code'])

/** Logs one line per request, when its response ends, without headers, bodies or tickets. */
export function requestLog(log: FastifyBaseLogger): FastifyBaseLogger {
  return log.child(
    {},
    {
      serializers: {
        req: (request: FastifyRequest) => ({
          method: request.method,
          url: redactUrl(request.url),
          remoteAddress: request.ip,
        }),
        res: (reply: Pick<FastifyReply, 'statusCode'>) => ({ statusCode: reply.statusCode }),
      },
      formatters: {
        log: (facts: object) => Object.fromEntries(Object.entries(facts).filter(([name]) => loggedFacts.has(name))),
      },
    },
  )
}

export class RequestLogController extends fastify.LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' })
  }

  override incomingRequest(request: FastifyRequest): void {
    request.log.trace({ req: request }, 'request received')
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const details = { req: request, res: reply, ms: Math.round(reply.elapsedTime * 10) / 10 }
    if (error) reply.log.info({ ...details, err: error }, 'request ended with an error')
    else reply.log.info(details, 'request done')
  }
}

/** Redacts credentials in the path and the query, even if a parameter's name is percent-encoded. */
export function redactUrl(url: string): string {
  const start = url.indexOf('?')
  const path = redactTokens(url.slice(0, start < 0 ? undefined : start))
  if (start < 0) return path
  const pairs = url
    .slice(start + 1)
    .split('&', maxLoggedParameters + 1)
    .map((pair, index) => (index < maxLoggedParameters ? redactPair(pair) : '[redacted]'))
  return `${path}?${pairs.join('&')}`
}

function redactPair(pair: string): string {
  const equals = pair.indexOf('=')
  const name = decode(pair.slice(0, Math.max(equals, 0)))
  if (loggedParameters.get(name)?.test(pair.slice(equals + 1))) return redactTokens(pair)
  return /^[a-z]{1,20}$/i.test(name) ? `${name}=[redacted]` : '[redacted]'
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The form of an ID that the server accepts from a proxy. Any other text could forge log lines. */
const pattern = /^[\w.-]{8,64}$/

export function requestId({ headers }: IncomingMessage): string {
  const id = headers['x-request-id']
  return typeof id === 'string' && pattern.test(id) ? id : randomUUID()
}

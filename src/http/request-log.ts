import fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify'
import { redactTokens } from '../auth/api-key.ts'

/** Query parameters that are shown, where they are what they should be; anything else may be a credential. */
const shownParameters = new Map([
  ['providerId', /^[\da-f-]{36}$/],
  ['path', /^/],
  ['conflict', /^[a-z]{1,10}$/],
  ['disposition', /^[a-z]{1,10}$/],
])
/** All that a line about a request has. Plugins log in its name, too: whole headers, where they like. */
const shownFacts = new Set(['req', 'res', 'err', 'reason', 'ms', 'path', 'code'])

/** One line for each request, when it is answered; no headers, no bodies, no tickets. */
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
        log: (facts: object) => Object.fromEntries(Object.entries(facts).filter(([name]) => shownFacts.has(name))),
      },
    },
  )
}

export class RequestLogController extends fastify.LogController {
  constructor() {
    super({ requestIdLogLabel: 'requestId' })
  }

  override incomingRequest(request: FastifyRequest): void {
    request.log.trace({ req: request }, 'request came in')
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const details = { req: request, res: reply, ms: Math.round(reply.elapsedTime * 10) / 10 }
    if (error) reply.log.info({ ...details, err: error }, 'request ended with an error')
    else reply.log.info(details, 'request done')
  }
}

/** However a parameter's name is encoded. */
export function redactUrl(url: string): string {
  const start = url.indexOf('?')
  const path = redactTokens(url.slice(0, start < 0 ? undefined : start))
  if (start < 0) return path
  const pairs = url.slice(start + 1).split('&')
  return `${path}?${pairs.map(redactPair).join('&')}`
}

function redactPair(pair: string): string {
  const equals = pair.indexOf('=')
  const name = decode(pair.slice(0, Math.max(equals, 0)))
  if (shownParameters.get(name)?.test(pair.slice(equals + 1))) return redactTokens(pair)
  return /^[a-z]{1,20}$/i.test(name) ? `${name}=[redacted]` : '[redacted]'
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

import fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify'

/** Query parameters that are as good as a credential. */
const secretParameters = new Set(['ticket', 'code', 'state'])

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

/** However the parameter's name is encoded. A GraphQL document can hold anything, passwords too. */
export function redactUrl(url: string): string {
  const start = url.indexOf('?')
  if (start < 0) return url
  if (url.startsWith('/graphql')) return `${url.slice(0, start)}?[redacted]`
  const pairs = url.slice(start + 1).split('&')
  return `${url.slice(0, start)}?${pairs.map(redactPair).join('&')}`
}

function redactPair(pair: string): string {
  const name = pair.split('=', 1)[0] ?? ''
  return secretParameters.has(decode(name)) ? `${name}=[redacted]` : pair
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

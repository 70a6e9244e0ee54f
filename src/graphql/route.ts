import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type Reason } from '../errors.ts'
import type { Services } from '../services/index.ts'
import { GraphqlContext, type RequestFacts } from './context.ts'
import type { Answer, Execute } from './execute.ts'
import { HeldResponses } from './held-responses.ts'
import { negotiate, responseMediaType } from './media-type.ts'
import { type Parameters, parseBody, parseQueryString } from './parameters.ts'

/** Bytes of a POST body. */
const maxBody = 1024 * 1024
/** Milliseconds for a client to read a large response. */
const readTimeout = 5 * 60_000

/**
 * `/graphql`, as GraphQL over HTTP has it (https://graphql.github.io/graphql-over-http/draft/).
 *
 * A request that is not well-formed is an HTTP error: 400, 405, 413 or 415, and 401 for a credential that is presented
 * and not good. Every well-formed one is answered in the media type that the client prefers:
 * - `application/json`: with 200, whatever the answer holds (section 6.4.1);
 * - `application/graphql-response+json`: with 400 where it has no `data`, as the document or its variables were refused;
 *   else with 200, also where `data` is null since a field was refused: that no credential came is such a refusal, as
 *   other fields of the document may need none (section 6.4.2);
 * - either with 429 and `Retry-After` where there were too many requests or attempts to do what was asked.
 *
 * A credential that is lost while the operation runs is answered with 401 in either.
 *
 * Only `application/json` bodies are taken, and GET only reads, so no other site's form can make a browser act.
 */
export function graphqlRoute(
  app: FastifyInstance,
  options: { services: Services; execute: Execute; facts: RequestFacts },
): void {
  const { services, execute, facts } = options
  const held = new HeldResponses()

  async function answer(request: FastifyRequest, reply: FastifyReply, parameters: Parameters, safe: boolean) {
    const mediaType = negotiate(request.headers.accept)
    const context = new GraphqlContext(services, facts, request, held)
    const executing = execute({
      parameters,
      context,
      safe,
      report(error, path) {
        if (context.signal.aborted) return
        const level = error.reason === 'INTERNAL' ? 'error' : 'warn'
        request.log[level]({ err: error.cause ?? error, reason: error.reason, path }, 'A GraphQL field failed')
      },
    })
    try {
      const body = await (safe ? executing : facts.track(executing))
      if (hasLostCredential(body)) reply.code(401).header('www-authenticate', 'Bearer')
      else reply.code(mediaType === responseMediaType && isRefusal(body) ? 400 : 200)
      const retryAfter = secondsToWait(body)
      if (retryAfter !== null) reply.code(429).header('retry-after', String(retryAfter))
      reply.header('content-type', `${mediaType}; charset=utf-8`)
      return Buffer.from(JSON.stringify(body))
    } finally {
      if (context.response.isReserved) onceRead(request, reply, () => context.response.release())
    }
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseBody(Buffer.isBuffer(body) ? body : Buffer.from(body)))
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  })

  app.post<{ Body: Parameters | undefined }>('/graphql', { bodyLimit: maxBody }, (request, reply) => {
    if (!request.body) throw new AppError('INVALID_INPUT', 'The body is a JSON object with a "query".')
    return answer(request, reply, request.body, false)
  })

  app.get('/graphql', (request, reply) => {
    reply.header('allow', 'GET, HEAD, POST').header('vary', 'accept')
    const { searchParams } = new URL(request.url, 'http://localhost')
    return answer(request, reply, parseQueryString(searchParams), true)
  })
}

/** Null unless nothing was done as there were too many requests (RFC 6585, section 4). */
function secondsToWait({ data, errors = [] }: Answer): number | null {
  if (data !== null) return null
  const waits = errors
    .filter(({ extensions }) => extensions.reason === 'RATE_LIMITED')
    .map(({ extensions }) => extensions.retryAfterMs ?? 0)
  return waits.length === 0 ? null : Math.max(1, Math.ceil(Math.max(...waits) / 1000))
}

const lostCredential: ReadonlySet<Reason> = new Set([
  'INVALID_CREDENTIAL',
  'KEY_EXPIRED',
  'KEY_REVOKED',
  'SESSION_ENDED',
])

/** It was good when the request came in. */
function hasLostCredential({ errors = [] }: Answer): boolean {
  return errors.some(({ extensions }) => lostCredential.has(extensions.reason))
}

function isRefusal(body: Answer): boolean {
  return body.data === undefined
}

/** Calls `done` when the client has read the response, is gone, or has taken too long. */
function onceRead({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
  const late = setTimeout(() => socket.destroy(), readTimeout).unref()
  const end = () => {
    clearTimeout(late)
    raw.off('close', end)
    socket.off('close', end)
    done()
  }
  if (socket.destroyed) end()
  // A response that waits behind others in a pipeline never emits `close` when the client goes away.
  else for (const each of [raw, socket]) each.once('close', end)
}

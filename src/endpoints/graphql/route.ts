import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type Reason } from '../../errors.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { sendEvents } from '../../http/event-stream.ts'
import { parseJsonBody } from '../../http/json.ts'
import { memoryOf, RequestMemory } from '../../http/memory.ts'
import { yieldToOthers } from '../../lib/event-loop.ts'
import { GraphqlContext, type GraphqlOptions } from './context.ts'
import { formatRefusal } from './error-formatter.ts'
import type { Execute, GraphqlResponse, Subscribe, Subscribing } from './execute.ts'
import { checkParameters, type Parameters, parseQueryString } from './parameters.ts'
import type { Prepare, PreparedOperation } from './prepare.ts'

/** GraphQL over HTTP, section 4. */
const responseMediaType = 'application/graphql-response+json'
const legacyMediaType = 'application/json'
const eventStream = 'text/event-stream'

type MediaType = typeof responseMediaType | typeof legacyMediaType

/**
 * Returns the media type that the Accept header prefers. It is `application/json` if the header names neither type, even
 * if it allows only others, because the body says more than a 406 would.
 */
function negotiate(accept: string | undefined): MediaType {
  if (accept === undefined || accept === '*/*') return legacyMediaType
  const weight = quality(accept, responseMediaType)
  return weight > 0 && weight >= quality(accept, legacyMediaType) ? responseMediaType : legacyMediaType
}

/** Returns whether the Accept header names event streams. */
function acceptsEvents(accept: string | undefined): boolean {
  return accept !== undefined && quality(accept, eventStream) > 0
}

/** Returns whether the Accept header prefers event streams, even for operations with one response. */
function prefersEvents(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const others = [responseMediaType, legacyMediaType, '*/*'].map(type => quality(accept, type))
  return quality(accept, eventStream) > Math.max(...others)
}

/** Returns the weight (RFC 9110, section 12.4.2), or 0 if the header does not name the type. */
function quality(accept: string, type: string): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    if (name !== type) continue
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0
  }
  return 0
}

/** Bytes of a POST body. */
const maxBody = 1024 * 1024
/** Bytes of a body that is parsed and prepared at once. Longer ones take turns. */
const shortBody = 16 * 1024

/**
 * Adds `/graphql` according to GraphQL over HTTP (https://graphql.github.io/graphql-over-http/draft/).
 *
 * A malformed request is an HTTP error: 400, 405, 413 or 415, and 401 for an invalid credential. The response to a
 * well-formed request has the media type that the client prefers:
 * - `application/json`: the status is 200, whatever the response contains (section 6.4.1);
 * - `application/graphql-response+json`: the status is 400 without `data`, if the document or its variables were refused.
 *   Otherwise it is 200, even if `data` is null because a field was refused. A missing credential is such a refusal,
 *   because other fields of the document may need none (section 6.4.2).
 *
 * With both, the status is 429 with `Retry-After` after too many requests, and 401 if the credential ends while the
 * operation runs.
 *
 * With `Accept: text/event-stream`, which a subscription requires, the response is an event stream with the status 200.
 *
 * The route accepts only `application/json` bodies, and GET runs no mutations, so that forms of other sites cannot make a
 * browser change anything.
 */
export function graphqlRoute(
  app: FastifyInstance,
  { prepare, execute, subscribe }: { prepare: Prepare; execute: Execute; subscribe: Subscribe },
  options: GraphqlOptions,
): void {
  async function respond(request: FastifyRequest, reply: FastifyReply, parameters: Parameters) {
    // There are no events in a response to HEAD.
    const accept = request.method === 'HEAD' ? undefined : request.headers.accept
    let prepared: PreparedOperation
    try {
      prepared = prepare(parameters)
      requireEvents(prepared, accept)
    } catch (error) {
      const refusal = { errors: formatRefusal(error, request.id) }
      return prefersEvents(accept) ? stream(request, reply, only(refusal)) : sendOne(request, reply, refusal)
    }
    const kind = prepared.operation.operation
    if (kind === 'mutation' && request.method !== 'POST') {
      throw new AppError('METHOD_NOT_ALLOWED', 'GET can only run queries: send a mutation with POST.')
    }
    const context = new GraphqlContext(options, request, memoryOf(request))
    const subscribing: Subscribing = {
      prepared,
      context,
      contextOf(viewer) {
        const memory = new RequestMemory(viewer, request.ip)
        return { context: new GraphqlContext(options, request, memory, viewer), done: () => memory.release() }
      },
      report(error, path) {
        if (context.signal.aborted) return
        const level = error.reason === 'INTERNAL' ? 'error' : 'warn'
        request.log[level]({ err: error.cause ?? error, reason: error.reason, path }, 'A GraphQL field failed')
      },
    }
    if (kind === 'subscription') return stream(request, reply, subscribe(subscribing))
    const executing = options.observe(prepared.operation, () => execute(subscribing))
    const body = await (request.method === 'POST' ? asTransfer(app, executing) : executing)
    if (memoryOf(request).isTaken) await yieldToOthers()
    return prefersEvents(accept) ? stream(request, reply, only(body)) : sendOne(request, reply, body)
  }

  async function stream(request: FastifyRequest, reply: FastifyReply, responses: AsyncIterable<GraphqlResponse>) {
    await asTransfer(app, sendEvents(reply, eventsOf(responses), requestSignal(request), options.heartbeat))
    return reply
  }

  // Anybody can send a document, because some fields need no credential: the rule of each field decides.
  const body = { kind: 'parsed', maxBytes: maxBody, type: 'application/json', authorize: () => {} } as const
  app.post<{ Body: Buffer | undefined }>('/graphql', { config: { body } }, async (request, reply) => {
    if (!request.body) throw new AppError('INVALID_INPUT', 'The body must be a JSON object with a "query".')
    const parameters = checkParameters(await parseJsonBody(request.body))
    if (request.body.length > shortBody) await yieldToOthers()
    return respond(request, reply, parameters)
  })

  app.get('/graphql', (request, reply) => {
    reply.header('allow', 'GET, HEAD, POST')
    reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept'].flat().join(', '))
    const { searchParams } = new URL(request.url, 'http://localhost')
    return respond(request, reply, parseQueryString(searchParams))
  })
}

function sendOne(request: FastifyRequest, reply: FastifyReply, body: GraphqlResponse): string {
  const mediaType = negotiate(request.headers.accept)
  if (hasLostCredential(body)) reply.code(401).header('www-authenticate', 'Bearer')
  else reply.code(mediaType === responseMediaType && isRefusal(body) ? 400 : 200)
  const retryAfter = secondsToWait(body)
  if (retryAfter !== null) reply.code(429).header('retry-after', String(retryAfter))
  reply.header('content-type', `${mediaType}; charset=utf-8`)
  return JSON.stringify(body)
}

/** GraphQL over SSE, mode of distinct connections (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md). */
async function* eventsOf(responses: AsyncIterable<GraphqlResponse>) {
  for await (const each of responses) yield { event: 'next', data: JSON.stringify(each) }
  yield { event: 'complete', data: '' }
}

async function* only(response: GraphqlResponse) {
  yield response
}

/** @throws INVALID_INPUT for a subscription that the client does not want as an event stream */
function requireEvents({ operation }: PreparedOperation, accept: string | undefined): void {
  if (operation.operation !== 'subscription' || acceptsEvents(accept)) return
  throw new AppError('INVALID_INPUT', 'Send a subscription with "Accept: text/event-stream".')
}

/** Returns the whole seconds for Retry-After; null unless a rate limit refused everything (RFC 6585, section 4). */
function secondsToWait({ data, errors = [] }: GraphqlResponse): number | null {
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
  'ACCOUNT_DEACTIVATED',
])

/** Returns true if the credential ended after the request was authenticated. */
function hasLostCredential({ errors = [] }: GraphqlResponse): boolean {
  return errors.some(({ extensions }) => lostCredential.has(extensions.reason))
}

function isRefusal(body: GraphqlResponse): boolean {
  return body.data === undefined
}

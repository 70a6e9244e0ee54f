/** Traces requests, jobs, queries and requests to back ends, each in a span. */
import { channel } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import {
  type Context,
  context,
  createContextKey,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { isTracingSuppressed, W3CTraceContextPropagator } from '@opentelemetry/core'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { CompiledQuery } from 'kysely'

/** https://www.w3.org/TR/trace-context/ */
const propagator = new W3CTraceContextPropagator()

/**
 * Makes a span for each request. Names and attributes follow the semantic conventions of OpenTelemetry, without the URL,
 * because it can contain a path or a ticket.
 */
export function observeRequests(app: FastifyInstance, tracer: Tracer): void {
  const contexts = new WeakMap<FastifyRequest, Context>()
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions, protocol, id } = request
    const { url: route } = routeOptions
    const caller = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
    const attributes = {
      'http.request.method': method,
      'url.scheme': protocol,
      ...(route !== undefined && { 'http.route': route }),
      'stowage.request_id': id,
    }
    const name = route === undefined ? method : `${method} ${route}`
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, caller)
    const { raw } = reply
    raw.once('close', () => {
      span.setAttribute('http.response.status_code', raw.statusCode)
      if (!raw.writableFinished) span.setAttribute('error.type', 'CLIENT_GONE')
      else if (raw.statusCode >= 500) span.setAttribute('error.type', String(raw.statusCode))
      if (raw.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
    const active = trace.setSpan(caller, span)
    contexts.set(request, active)
    context.with(active, done)
  })
  // The events of a body run in the context of the connection.
  app.addHook('preValidation', (request, _reply, done) => {
    context.with(contexts.get(request) ?? ROOT_CONTEXT, done)
  })
}

const verb = /^\s*(\w+)/
const table = /\b(?:from|join|into|update) "?(\w+)/

/** Returns a function that records a query after it has ended. Its text has placeholders instead of values. */
export function createObserveQuery(tracer: Tracer) {
  return ({ sql }: CompiledQuery, milliseconds: number, error?: unknown): void => {
    const operation = verb.exec(sql)?.[1] ?? 'query'
    const summary = [operation, table.exec(sql)?.[1]].filter(word => word !== undefined).join(' ')
    const end = performance.timeOrigin + performance.now()
    const span = startChild(tracer, summary, {
      kind: SpanKind.CLIENT,
      startTime: end - milliseconds,
      attributes: { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.text': sql },
    })
    if (!span) return
    if (error === undefined) span.end(end)
    else endWithError(span, error, end)
  }
}

/** The spans below that of a job. A large job calls a back end hundreds of thousands of times. */
const maxSpans = 1000

export interface TracedJob {
  id: string
  kind: string
  /** The request that created the job. */
  requestId: string | null
}

/** Returns a function that runs a job in a trace of its own, because jobs outlive the requests that create them. */
export function createObserveJob(tracer: Tracer) {
  return async <T extends string | null>({ id, kind, requestId }: TracedJob, run: () => Promise<T>): Promise<T> => {
    const attributes = {
      'stowage.job.id': id,
      'stowage.job.kind': kind,
      ...(requestId !== null && { 'stowage.request_id': requestId }),
    }
    const span = tracer.startSpan(`job ${kind}`, { root: true, kind: SpanKind.CONSUMER, attributes })
    try {
      const state = await context.with(contextOf(span, maxSpans), run)
      if (state !== null) span.setAttribute('stowage.job.state', state)
      span.end()
      return state
    } catch (error) {
      endWithError(span, error)
      throw error
    }
  }
}

interface ClientRequestMessage {
  request: ClientRequest
  response?: IncomingMessage
  error?: Error
}

/**
 * Makes a span for each HTTP request of an adapter, from its beginning to the headers of the response. It has no URL, because
 * that can contain a path or a signature. Back ends receive no trace headers.
 * @returns a function that ends it
 */
export function observeBackEndRequests(tracer: Tracer): () => void {
  const spans = new WeakMap<ClientRequest, Span>()
  const listeners = {
    'http.client.request.created': ({ request }: ClientRequestMessage) => {
      const { method, host, protocol } = request
      const attributes = { 'http.request.method': method, 'server.address': host, 'url.scheme': protocol.slice(0, -1) }
      const span = startChild(tracer, method, { kind: SpanKind.CLIENT, attributes })
      if (span) spans.set(request, span)
    },
    'http.client.response.finish': ({ request, response }: ClientRequestMessage) => {
      const status = response?.statusCode ?? 0
      const span = spans.get(request)?.setAttribute('http.response.status_code', status)
      if (status >= 400) span?.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR })
      span?.end()
    },
    'http.client.request.error': ({ request, error }: ClientRequestMessage) => {
      const span = spans.get(request)
      if (span) endWithError(span, error)
    },
  }
  const subscriptions = Object.entries(listeners).map(([name, listener]) => {
    const onMessage = (message: unknown) => listener(message as ClientRequestMessage)
    channel(name).subscribe(onMessage)
    return () => channel(name).unsubscribe(onMessage)
  })
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe()
  }
}

/** Runs `work` in a span of its own. */
export type InSpan = <T>(name: string, options: SpanOptions, work: () => T) => T

/** The spans that a trace can still get. */
interface SpanBudget {
  left: number
}

const budgetKey = createContextKey('stowage.budget')

/** Returns a context whose active span is the root of a trace with at most `maxSpans` further spans. */
export function contextOf(root: Span, maxSpans: number): Context {
  const budget: SpanBudget = { left: maxSpans }
  return trace.setSpan(ROOT_CONTEXT, root).setValue(budgetKey, budget)
}

/**
 * Starts a span within the active one. Work that a request leaves behind, such as a timer, is not part of its trace.
 * @returns null if nothing is traced, or the trace is full
 */
export function startChild(tracer: Tracer, name: string, options: SpanOptions): Span | null {
  const active = context.active()
  // Spans are sent within the context of the span that ended last. The request that sends them is not part of its trace.
  if (isTracingSuppressed(active) || !trace.getSpan(active)?.isRecording()) return null
  const budget = active.getValue(budgetKey) as SpanBudget | undefined
  if (budget) {
    if (budget.left === 0) return null
    budget.left -= 1
  }
  return tracer.startSpan(name, options)
}

/** Spans have the active span as their parent. Without one, nothing is recorded. */
export function createInSpan(tracer: Tracer): InSpan {
  return (name, options, work) => {
    const span = startChild(tracer, name, options)
    if (!span) return work()
    return context.with(trace.setSpan(context.active(), span), () => {
      try {
        const result = work()
        if (!(result instanceof Promise)) span.end()
        else
          result.then(
            () => span.end(),
            error => endWithError(span, error),
          )
        return result
      } catch (error) {
        endWithError(span, error)
        throw error
      }
    })
  }
}

/** Ends a span with the type of an error, and without its message, which can contain a path. */
export function endWithError(span: Span, error: unknown, endTime?: number): void {
  span.setAttribute('error.type', typeOf(error)).setStatus({ code: SpanStatusCode.ERROR })
  span.end(endTime)
}

/** Returns the reason of an AppError, the code of a system, an adapter or PostgreSQL, or the name of the class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { reason, code } = error as { reason?: unknown; code?: unknown }
  return [reason, code].find(known => typeof known === 'string' && /^\w{1,50}$/.test(known))?.toString() ?? error.name
}

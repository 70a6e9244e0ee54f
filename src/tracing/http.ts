import {
  type Context,
  context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { FastifyInstance, FastifyRequest } from 'fastify'

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

import { channel } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { endWithError, startChild } from './spans.ts'

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

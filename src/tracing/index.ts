/** Traces for OpenTelemetry: each request and each run of a job, with calls of services, queries and back-end calls. */
import { context, SpanKind, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { FastifyInstance } from 'fastify'
import type { OperationDefinitionNode } from 'graphql'
import type { StorageProvider } from '../../adapters/contract.ts'
import { withTimeout } from '../lib/timeout.ts'
import { wrapCalls } from '../lib/wrap-calls.ts'
import {
  createInSpan,
  createObserveJob,
  createObserveQuery,
  observeBackEndRequests,
  observeRequests,
} from './instruments.ts'

export type Traces = ReturnType<typeof startTraces>

/** The number of fields of a document in the name of its span. */
const maxFields = 3

export function startTraces(options: TraceOptions) {
  const { tracer, close } = startExport(options)
  const inSpan = createInSpan(tracer)
  const stop = observeBackEndRequests(tracer)

  return {
    /** Observes all requests. Call this before routes are added. */
    observeServer(app: FastifyInstance): void {
      observeRequests(app, tracer)
    },

    observeQuery: createObserveQuery(tracer),

    observeJob: createObserveJob(tracer),

    /** Returns the services with their calls in spans such as `files.download`. */
    observeServices<T extends object>(services: T): T {
      const wrapped = Object.entries(services).map(([service, value]) => {
        if (typeof value !== 'object' || value === null) return [service, value]
        const traced = wrapCalls(value, (name, call) => {
          return (...args) => inSpan(`${service}.${name}`, {}, () => call(...args))
        })
        return [service, traced]
      })
      return Object.fromEntries(wrapped)
    },

    /** Returns the provider with its calls in spans such as `s3.read`. */
    observeProvider(provider: StorageProvider, { id, type }: { id: string; type: string }): StorageProvider {
      const attributes = { 'stowage.provider.id': id, 'stowage.provider.type': type }
      return wrapCalls(provider, (operation, call) => {
        return (...args) => inSpan(`${type}.${operation}`, { kind: SpanKind.CLIENT, attributes }, () => call(...args))
      })
    },

    /** Runs a GraphQL operation in a span such as `query me, providers`. The operation is valid, so its fields are in the schema. */
    observeOperation<T>({ operation, selectionSet }: OperationDefinitionNode, execute: () => T): T {
      const fields = selectionSet.selections.map(selection =>
        selection.kind === 'Field' ? selection.name.value : '...',
      )
      const shown = fields.slice(0, maxFields).join(', ') + (fields.length > maxFields ? ', ...' : '')
      return inSpan(`${operation} ${shown}`, { attributes: { 'graphql.operation.type': operation } }, execute)
    },

    /** Sends what is queued. Requests are no longer traced. */
    async close(): Promise<void> {
      stop()
      await close()
    },
  }
}

export interface TraceOptions {
  /** The address of the collector, without a trailing `/`. */
  endpoint: string
  /** The share of requests to trace, from 0 to 1, if the caller does not decide it. */
  ratio: number
  warn: (message: string, error: unknown) => void
}

/** Spans that wait to be sent. Further ones are dropped. */
const maxQueueSize = 2048
/** Milliseconds between two exports, unless a batch is full. */
const exportInterval = 1000
/** Milliseconds for one export with its retries. Spans that have not arrived then are lost. */
const exportTimeout = 5000
/** Milliseconds that a stop waits for the last exports. */
const closeTimeout = 2000
/** Milliseconds between two warnings. */
const warnInterval = 60_000

export interface TraceExport {
  tracer: Tracer
  /** Sends what is queued, for at most some seconds. */
  close(): Promise<void>
}

/** Starts the export of traces. Only one can run in a process, because the library keeps the active span in a global variable. */
export function startExport({ endpoint, ratio, warn }: TraceOptions): TraceExport {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  let warnedAt = Number.NEGATIVE_INFINITY
  setGlobalErrorHandler(error => {
    if (performance.now() - warnedAt < warnInterval) return
    warnedAt = performance.now()
    warn('Traces could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT', error)
  })
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportTimeout })
  const provider = new TracerProvider({
    // The operator can set OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
    resource: resourceFromAttributes({ 'service.name': 'stowage' }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: 2000 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize,
        scheduledDelayMillis: exportInterval,
        exportTimeoutMillis: 2 * exportTimeout,
      }),
    ],
  })
  return {
    tracer: provider.getTracer('stowage'),
    async close() {
      const late = () => new Error('The collector does not respond in time.')
      await withTimeout(provider.shutdown(), closeTimeout, late).catch(error => warn('Traces were lost', error))
      context.disable()
    },
  }
}

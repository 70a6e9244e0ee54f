/** Sends spans to an OpenTelemetry collector: OTLP over HTTP, in JSON. */
import { context, type Tracer } from '@opentelemetry/api'
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
import { withTimeout } from '../lib/timeout.ts'

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
/** Milliseconds for one export with its retries. A stop waits for the last one. */
const exportTimeout = 2000
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
      await withTimeout(provider.shutdown(), exportTimeout, late).catch(error => warn('Traces were lost', error))
      context.disable()
    },
  }
}

import { context, SpanKind, type Tracer } from '@opentelemetry/api'
import { contextOf, endWithError } from './spans.ts'

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

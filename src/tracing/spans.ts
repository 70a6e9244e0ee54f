import { context, type Span, type SpanOptions, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'

/** Runs `work` in a span of its own. */
export type InSpan = <T>(name: string, options: SpanOptions, work: () => T) => T

/**
 * Returns true within a request that is traced. Work that such a request leaves behind, such as a timer, is not part of its
 * trace.
 */
export function isTraced(): boolean {
  return trace.getActiveSpan()?.isRecording() === true
}

/** Spans have the active span as their parent. Without one, nothing is recorded. */
export function createInSpan(tracer: Tracer): InSpan {
  return (name, options, work) => {
    if (!isTraced()) return work()
    const span = tracer.startSpan(name, options)
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

import {
  type Context,
  context,
  createContextKey,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'

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
  if (!trace.getActiveSpan()?.isRecording()) return null
  const budget = context.active().getValue(budgetKey) as SpanBudget | undefined
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

import { SpanKind, type Tracer } from '@opentelemetry/api'
import type { CompiledQuery } from 'kysely'
import { endWithError, startChild } from './spans.ts'

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

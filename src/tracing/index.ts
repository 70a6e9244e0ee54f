/** Traces for OpenTelemetry: each request and each run of a job, with calls of services, queries and back-end calls. */
import { SpanKind } from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import type { OperationDefinitionNode } from 'graphql'
import type { StorageProvider } from '../../adapters/contract.ts'
import { wrapCalls } from '../lib/wrap-calls.ts'
import { startExport, type TraceOptions } from './exporter.ts'
import { createObserveJob, createObserveQuery, observeBackEndRequests, observeRequests } from './instruments.ts'
import { createInSpan } from './spans.ts'

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
      const observed = Object.entries(services).map(([service, value]) => {
        if (typeof value !== 'object' || value === null) return [service, value]
        const observe = wrapCalls(value, (name, call) => {
          return (...args) => inSpan(`${service}.${name}`, {}, () => call(...args))
        })
        return [service, observe]
      })
      return Object.fromEntries(observed)
    },

    /** Returns the provider with its calls in spans such as `s3.read`. */
    observeProvider(provider: StorageProvider, { id, type }: { id: string; type: string }): StorageProvider {
      const attributes = { 'stowage.provider.id': id, 'stowage.provider.type': type }
      return wrapCalls(provider, (operation, call) => {
        return (...args) => inSpan(`${type}.${operation}`, { kind: SpanKind.CLIENT, attributes }, () => call(...args))
      })
    },

    /** Runs a GraphQL operation in a span such as `query me, providers`. The operation is valid, so its fields are ours. */
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

import { createSourceEventStream, execute, type GraphQLSchema } from 'graphql'
import type { Viewer } from '../../auth/viewer.ts'
import { publicError, toAppError } from '../../errors.ts'
import type { GraphqlContext } from './context.ts'
import { type Execution, type GraphqlResponse, toResponse } from './execute.ts'

/** The events of every subscription carry the viewer with the rights that they have at that time. */
interface Event {
  viewer: Viewer
}

export interface Subscribing extends Execution {
  /** Returns a new context for an event. `done` releases its memory. */
  contextOf(viewer: Viewer): { context: GraphqlContext; done: () => void }
}

/** Yields a response for each event. The last one has errors if the subscription failed. */
export type Subscribe = (subscribing: Subscribing) => AsyncGenerator<GraphqlResponse, void, undefined>

export function createSubscribe(schema: GraphQLSchema): Subscribe {
  return async function* subscribe(subscribing) {
    const { prepared, context, contextOf, report } = subscribing
    const { document } = prepared
    const { variables: variableValues, operationName } = prepared.parameters
    const operation = { schema, document, variableValues, operationName }
    const source = await createSourceEventStream({ ...operation, contextValue: context })
    if (!(Symbol.asyncIterator in source)) {
      yield toResponse(schema, subscribing, source)
      return
    }
    try {
      for await (const event of source as AsyncIterable<Event>) {
        const { context: contextValue, done } = contextOf(event.viewer)
        try {
          const result = await execute({ ...operation, rootValue: event, contextValue })
          yield toResponse(schema, { prepared, context: contextValue, report }, result)
        } finally {
          done()
        }
      }
    } catch (error) {
      if (context.signal.aborted) return
      const failure = toAppError(error)
      if (failure.code === 'INTERNAL_SERVER_ERROR') report(failure, '')
      yield { errors: [publicError(failure, context.requestId)], data: null }
    }
  }
}

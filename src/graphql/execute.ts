import { RequestCache } from '@pothos/plugin-scope-auth'
import type { FastifyInstance } from 'fastify'
import type { ExecutionResult, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { AppError } from '../errors.ts'
import type { GraphqlContext } from './context.ts'
import { requireAffordable } from './cost.ts'
import { createDocuments, findOperation } from './documents.ts'
import { causeOf, type FormattedError, formatExecution, formatRefusal, maxErrors } from './error-formatter.ts'
import { requireSmallIntrospection } from './introspection-size.ts'
import type { Parameters } from './parameters.ts'
import { noteRefusals } from './refusals.ts'
import { readVariables } from './variables.ts'

/** A response without `data` means that the request was refused and nothing was executed. */
export interface GraphqlResponse {
  errors?: FormattedError[]
  data?: ExecutionResult['data']
}

export interface Execution {
  parameters: Parameters
  context: GraphqlContext
  /** True if a mutation is refused. */
  isQueryOnly: boolean
  /** Called for each error that the client did not cause. */
  report(error: AppError, path: string): void
}

export type Execute = (execution: Execution) => Promise<GraphqlResponse>

/** Returns a function that throws METHOD_NOT_ALLOWED if `isQueryOnly` is set and the operation is not a query. */
export function createExecute(app: FastifyInstance, schema: GraphQLSchema): Execute {
  const documents = createDocuments(schema)
  /** Operations without variables, which always have the same cost, so they are checked only once. */
  const affordable = new WeakSet<OperationDefinitionNode>()

  /** @throws RequestRefused, QUERY_TOO_LARGE */
  function prepare({ query, operationName, variables }: Parameters): OperationDefinitionNode {
    const known = documents.get(query)
    const operation = findOperation(known, operationName)
    if (affordable.has(operation)) return operation
    const values = readVariables(schema, operation, variables ?? {})
    requireAffordable(schema, known.document, operation, values)
    requireSmallIntrospection(schema, known.document, operation, values)
    if (!operation.variableDefinitions?.length) affordable.add(operation)
    return operation
  }

  return async ({ parameters, context, isQueryOnly, report }) => {
    const { requestId } = context
    let operation: OperationDefinitionNode
    try {
      operation = prepare(parameters)
    } catch (error) {
      return { errors: formatRefusal(error, requestId) }
    }
    if (isQueryOnly && operation.operation !== 'query') {
      throw new AppError('METHOD_NOT_ALLOWED', 'GET can only run queries: send a mutation with POST.')
    }
    const { query, variables, operationName } = parameters
    const { data, errors } = await app
      .graphql(query, context, variables ?? undefined, operationName ?? undefined)
      // The cache would keep the context and its request alive beyond the next minor garbage collection.
      .finally(() => RequestCache.clearForContext(context))
    const { refusal } = context.response
    if (refusal) {
      const first = errors?.find(error => causeOf(error) === refusal)
      return {
        errors: first ? formatExecution([first], requestId, report) : formatRefusal(refusal, requestId),
        data: null,
      }
    }
    if (!errors) return { data }
    noteRefusals(errors.slice(0, maxErrors), schema, context, variables)
    return { errors: formatExecution(errors, requestId, report), data: data ?? null }
  }
}

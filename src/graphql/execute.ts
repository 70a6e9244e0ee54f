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

/** Without `data` the request was refused, and nothing was executed. */
export interface Answer {
  errors?: FormattedError[]
  data?: ExecutionResult['data']
}

export interface Execution {
  parameters: Parameters
  context: GraphqlContext
  /** True where only a query will do. */
  safe: boolean
  /** Called with what is not the client's doing. */
  report(error: AppError, path: string): void
}

export type Execute = (execution: Execution) => Promise<Answer>

/** @throws METHOD_NOT_ALLOWED where a query is needed and the operation is another */
export function createExecute(app: FastifyInstance, schema: GraphQLSchema): Execute {
  const documents = createDocuments(schema)
  /** Operations without variables, whose cost is always the same. */
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

  return async ({ parameters, context, safe, report }) => {
    const { requestId } = context
    let operation: OperationDefinitionNode
    try {
      operation = prepare(parameters)
    } catch (error) {
      return { errors: formatRefusal(error, requestId) }
    }
    if (safe && operation.operation !== 'query') {
      throw new AppError('METHOD_NOT_ALLOWED', 'A GET only reads: send a mutation with POST.')
    }
    const { query, variables, operationName } = parameters
    const { data, errors } = await app
      .graphql(query, context, variables ?? undefined, operationName ?? undefined)
      // Its entry refers to the context, and through it to the request: all of that would outlive young collections.
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

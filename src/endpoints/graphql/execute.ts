import { RequestCache } from '@pothos/plugin-scope-auth'
import type { FastifyInstance } from 'fastify'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import type { AppError } from '../../errors.ts'
import type { GraphqlContext } from './context.ts'
import { causeOf, type FormattedError, formatExecution, formatRefusal, maxErrors } from './error-formatter.ts'
import type { PreparedOperation } from './prepare.ts'
import { noteRefusals } from './refusals.ts'

/** A response without `data` means that the request was refused and nothing was executed. */
export interface GraphqlResponse {
  errors?: FormattedError[]
  data?: ExecutionResult['data']
}

/** Called for each error that the client did not cause. */
export type Report = (error: AppError, path: string) => void

export interface Execution {
  prepared: PreparedOperation
  context: GraphqlContext
  report: Report
}

/** Executes a query or mutation. */
export type Execute = (execution: Execution) => Promise<GraphqlResponse>

export function createExecute(app: FastifyInstance, schema: GraphQLSchema): Execute {
  return async execution => {
    const { prepared, context } = execution
    const { query, variables, operationName } = prepared.parameters
    const result = await app.graphql(query, context, variables ?? undefined, operationName ?? undefined)
    return toResponse(schema, execution, result)
  }
}

/** Formats a result, and frees what was cached for its context. */
export function toResponse(
  schema: GraphQLSchema,
  { prepared, context, report }: Execution,
  { data, errors }: ExecutionResult,
): GraphqlResponse {
  const { requestId } = context
  // The cache would keep the context and its request alive beyond the next minor garbage collection.
  RequestCache.clearForContext(context)
  const { refusal } = context.response
  if (refusal) {
    const first = errors?.find(error => causeOf(error) === refusal)
    return {
      errors: first ? formatExecution([first], requestId, report) : formatRefusal(refusal, requestId),
      data: null,
    }
  }
  if (!errors) return { data }
  noteRefusals(errors.slice(0, maxErrors), schema, context, prepared.parameters.variables)
  return { errors: formatExecution(errors, requestId, report), data: data ?? null }
}

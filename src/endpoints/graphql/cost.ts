/** Bounds the cost of a document: one per field, multiplied by the maximum length of the lists around it. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import { type DocumentNode, type GraphQLSchema, Kind, type OperationDefinitionNode } from 'graphql'
import { AppError } from '../../errors.ts'

/**
 * The maximum cost of a document. It is enough for a page of 1,000 entries with all of their fields, or for 500 calls
 * to a back end with their results.
 */
export const maxCost = 100_000
/** The maximum cost of a subscription, because each event executes its document again. It is enough for a hundred failures. */
export const maxEventCost = 2000
/** The cost of a field that calls a back end. */
export const backEndCost = 100
/** The cost of a field that hashes a password: four per request, so that one request cannot guess a hundred. */
export const passwordCost = 25_000

/** The cost of a list without pages. Its length is unknown before execution, so this is an estimate. */
export const providersCost = { field: 1, multiplier: 20 }
/** The cost of the groups of a member, as an estimate: few are in more. */
export const groupsCost = { field: 1, multiplier: 10 }
/** The estimated cost of the recipients of a share. Most shares have few. */
export const recipientsCost = { field: 1, multiplier: 10 }
/** The cost of `nodes` and `edges`. The connection already counts its `first`. */
export const pageCost = { field: 1, multiplier: 1 }

/** Returns the cost of a connection. If `first` exceeds `most`, the service refuses it with a better message. */
export function connectionCost(first: number | null | undefined, most: number, field = 1) {
  return { field, multiplier: Math.min(first ?? most, most) }
}

/** @throws QUERY_TOO_LARGE */
export function requireAffordable(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): void {
  const definitions = document.definitions.filter(node => node === operation || node.kind !== Kind.OPERATION_DEFINITION)
  const { complexity } = complexityFromQuery({ ...document, definitions }, { schema, variables })
  const most = operation.operation === 'subscription' ? maxEventCost : maxCost
  if (complexity > most) {
    throw new AppError(
      'QUERY_TOO_LARGE',
      `The operation could cost ${complexity}, the limit is ${most}: ask for smaller pages or fewer fields.`,
      { facts: { cost: complexity, maxCost: most } },
    )
  }
}

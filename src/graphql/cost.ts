/** What a document may cost: one for a field, times the entries that a list can have. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import { type DocumentNode, type GraphQLSchema, Kind, type OperationDefinitionNode } from 'graphql'
import { AppError } from '../errors.ts'

/** A page of 1,000 entries with all of their fields, or 500 back-end calls with what they answer. */
export const maxCost = 100_000
/** Of a field that asks a back end. */
export const backEndCost = 100
/** Of a field that hashes a password: four at once, so that nobody tries a hundred with one request. */
export const passwordCost = 25_000

/** Of lists without pages; what they can hold is not known beforehand. */
export const providersCost = { field: 1, multiplier: 20 }
/** Of `nodes` and `edges`: the connection's `first` has been counted already. */
export const pageCost = { field: 1, multiplier: 1 }

/** Of a connection. What exceeds `most` is refused by the service, with a better sentence. */
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
  if (complexity > maxCost) {
    throw new AppError(
      'QUERY_TOO_LARGE',
      `The operation could cost ${complexity}, the limit is ${maxCost}: ask for smaller pages or fewer fields.`,
      { facts: { cost: complexity, maxCost } },
    )
  }
}

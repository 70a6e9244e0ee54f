import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { requireAffordable } from './cost.ts'
import { createDocuments, findOperation } from './documents.ts'
import { requireSmallIntrospection } from './introspection-size.ts'
import type { Parameters } from './parameters.ts'
import { readVariables } from './variables.ts'

/** An operation that may be executed. */
export interface PreparedOperation {
  parameters: Parameters
  document: DocumentNode
  operation: OperationDefinitionNode
}

/** @throws RequestRefused, QUERY_TOO_LARGE */
export type Prepare = (parameters: Parameters) => PreparedOperation

export function createPrepare(schema: GraphQLSchema): Prepare {
  const documents = createDocuments(schema)
  /** Operations without variables, which always have the same cost, so they are checked only once. */
  const affordable = new WeakSet<OperationDefinitionNode>()
  return parameters => {
    const known = documents.get(parameters.query)
    const operation = findOperation(known, parameters.operationName)
    const prepared = { parameters, document: known.document, operation }
    if (affordable.has(operation)) return prepared
    const values = readVariables(schema, operation, parameters.variables ?? {})
    requireAffordable(schema, known.document, operation, values)
    requireSmallIntrospection(schema, known.document, operation, values)
    if (!operation.variableDefinitions?.length) affordable.add(operation)
    return prepared
  }
}

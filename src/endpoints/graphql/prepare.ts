import {
  coerceInputValue,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isInputType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  print,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'
import { requireAffordable } from './cost.ts'
import { createDocumentCache, findOperation, tooLarge } from './documents.ts'
import { maxErrors, RequestRefused } from './error-formatter.ts'
import type { Parameters } from './parameters.ts'

/**
 * The maximum size of an introspection response in bytes: more than four times that of the standard introspection query with all of
 * its options.
 */
const maxBytes = 512 * 1024

const metaFields = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map(field => [field.name, field]))

/**
 * Bounds the size of an introspection response, because introspection needs no credential. The schema is known, so the
 * response is measured before it is built. graphql's MaxIntrospectionDepthRule bounds only the depth.
 * @param document must not have fragments that contain themselves
 * @throws QUERY_TOO_LARGE
 */
function requireBoundedIntrospection(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): void {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  const info = { schema } as GraphQLResolveInfo
  let bytes = 0

  const spend = (more: number) => {
    bytes += more
    if (bytes > maxBytes) throw tooLarge('asks for too much introspection at once')
  }

  /** @param type null for the operation itself, where only the meta fields count */
  const measure = ({ selections }: SelectionSetNode, type: GraphQLObjectType | null, source: unknown): void => {
    for (const node of selections) {
      if (node.kind !== Kind.FIELD) {
        const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node
        if (fragment) measure(fragment.selectionSet, type, source)
        continue
      }
      const field = type ? type.getFields()[node.name.value] : metaFields.get(node.name.value)
      if (!field && !type) continue
      spend((node.alias ?? node.name).value.length + '"":,'.length)
      if (!field) continue
      const value: unknown = field.resolve?.(source, getArgumentValues(field, node, variables), undefined, info)
      measureValue(field.type, value, node.selectionSet)
    }
  }

  const measureValue = (type: GraphQLOutputType, value: unknown, set: SelectionSetNode | undefined): void => {
    const plain = getNullableType(type)
    if (isListType(plain) && Array.isArray(value)) {
      for (const each of value) measureValue(plain.ofType, each, set)
    } else if (set && isObjectType(plain) && value !== null && value !== undefined) {
      spend('{},'.length)
      measure(set, plain, value)
    } else spend(Buffer.byteLength(JSON.stringify(value) ?? 'null'))
  }

  measure(operation.selectionSet, null, undefined)
}

/** An operation that may be executed. */
export interface PreparedOperation {
  parameters: Parameters
  document: DocumentNode
  operation: OperationDefinitionNode
}

/** @throws RequestRefused, QUERY_TOO_LARGE */
export type Prepare = (parameters: Parameters) => PreparedOperation

export function createPrepare(schema: GraphQLSchema): Prepare {
  const documents = createDocumentCache(schema)
  /** Operations without variables, which always have the same cost, so they are checked only once. */
  const affordable = new WeakSet<OperationDefinitionNode>()
  return parameters => {
    const known = documents.get(parameters.query)
    const operation = findOperation(known, parameters.operationName)
    const prepared = { parameters, document: known.document, operation }
    if (affordable.has(operation)) return prepared
    const values = readVariables(schema, operation, parameters.variables ?? {})
    requireAffordable(schema, known.document, operation, values)
    requireBoundedIntrospection(schema, known.document, operation, values)
    if (!operation.variableDefinitions?.length) affordable.add(operation)
    return prepared
  }
}

/**
 * Returns the values of an operation's variables, with defaults. The errors omit the values, because graphql's own
 * messages repeat whole inputs with their passwords and keys. @throws INVALID_INPUT as `RequestRefused`
 */
function readVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): Record<string, unknown> {
  const definitions = operation.variableDefinitions ?? []
  // One error is enough to know that the values are invalid; each of graphql's errors prints the whole variable.
  const values = getVariableValues(schema, definitions, variables, { maxErrors: 1 })
  if (!values.errors) return values.coerced
  const errors = problems(schema, definitions, variables)
  throw new RequestRefused('INVALID_INPUT', errors.length > 0 ? errors : values.errors)
}

/** Stops at `maxErrors`, because graphql searches for similar names for each problem, which is slow. */
function problems(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): GraphQLError[] {
  const errors: GraphQLError[] = []
  const enough = Symbol('enough')
  try {
    for (const node of definitions) collect(node)
  } catch (thrown) {
    if (thrown !== enough) throw thrown
  }
  return errors

  function collect(node: VariableDefinitionNode): void {
    const name = node.variable.name.value
    const type = typeFromAST(schema, node.type as never)
    const value = variables[name]
    const refuse = (what: string) => {
      errors.push(new GraphQLError(what, { nodes: node }))
      if (errors.length === maxErrors) throw enough
    }
    if (!isInputType(type)) return
    if (value === undefined || value === null) {
      if (print(node.type).endsWith('!') && (value === null || !node.defaultValue))
        refuse(`Variable "$${name}" of the type "${print(node.type)}" is missing or null.`)
      return
    }
    coerceInputValue(value, type, (path, invalid, { message }) => {
      const position = [name, ...path].join('.')
      refuse(`Variable "$${name}" has an invalid value at "${position}": ${withoutValue(message, invalid)}`)
    })
  }
}

function withoutValue(text: string, value: unknown): string {
  const message = text.replace(/^([A-Z]\w* cannot represent [^:"]*): .*$/s, '$1.')
  if (typeof value === 'object') return message
  const texts = [JSON.stringify(value), String(value)].filter(text => text.length > 1)
  return texts.reduce((text, each) => text.replaceAll(each, '...'), message)
}

/**
 * Bounds the size of an introspection response, because introspection needs no credential. The schema is known, so the
 * response is measured before it is built. graphql's MaxIntrospectionDepthRule bounds only the depth.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql'
import { tooLarge } from './limits.ts'

/**
 * The maximum size of a response in bytes: more than four times that of the standard introspection query with all of
 * its options.
 */
const maxBytes = 512 * 1024

const metaFields = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map(field => [field.name, field]))

/** @param document must not have fragments that contain themselves @throws QUERY_TOO_LARGE */
export function requireSmallIntrospection(
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

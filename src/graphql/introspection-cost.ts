/**
 * What a question about the schema may cost, which needs no credential. graphql's MaxIntrospectionDepthRule bounds how deep it
 * goes; with aliases it could still be broad on each level, and the levels multiply.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { tooLarge } from './limits.ts'

/** Fields of the answer, estimated: the standard introspection query has some 400,000 with all options. */
const maxCost = 500_000
/** How many a list has, more or less; there are as many types. */
const entries: Readonly<Record<string, number>> = {
  types: 120,
  fields: 8,
  args: 8,
  inputFields: 8,
  enumValues: 8,
  possibleTypes: 8,
  interfaces: 8,
  directives: 8,
}

/** @param document of fragments that do not contain themselves @throws QUERY_TOO_LARGE */
export function requireAffordableIntrospection(document: DocumentNode, operation: OperationDefinitionNode): void {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  const known = new Map<string, number>()

  const ofFragment = (name: string, isInside: boolean): number => {
    const key = `${isInside} ${name}`
    const fragment = fragments.get(name)
    const cost = known.get(key) ?? (fragment ? ofSet(fragment.selectionSet, isInside) : 0)
    known.set(key, cost)
    return cost
  }

  /** @param isInside whether it lies below `__schema` or `__type` */
  const ofSet = ({ selections }: SelectionSetNode, isInside: boolean): number => {
    let cost = 0
    for (const node of selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) cost += ofFragment(node.name.value, isInside)
      else if (node.kind === Kind.INLINE_FRAGMENT) cost += ofSet(node.selectionSet, isInside)
      else if (node.selectionSet) {
        const name = node.name.value
        const below = ofSet(node.selectionSet, isInside || name === '__schema' || name === '__type')
        cost += isInside ? 1 + (entries[name] ?? 1) * below : below
      } else if (isInside) cost += 1
    }
    return cost
  }

  if (ofSet(operation.selectionSet, false) > maxCost) throw tooLarge('asks for too much introspection at once')
}

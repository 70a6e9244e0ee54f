/**
 * Bounds the shape of a document before validation, because a hostile document can make validation slow. Each fragment is
 * measured once and counted wherever it is spread, so the time is linear in the length of the document.
 */
import { type DocumentNode, type FragmentDefinitionNode, Kind, type SelectionSetNode, visit } from 'graphql'
import { AppError } from '../../errors.ts'

/** The maximum number of characters of the document. */
export const maxCharacters = 50_000
/** The maximum number of tokens in the document: twelve times as many as the standard introspection query has. */
export const maxTokens = 2000
/** The maximum number of levels of fields. Introspection goes deeper; graphql's MaxIntrospectionDepthRule bounds it. */
export const maxDepth = 12
/** The maximum number of fields in one selection set, with or without aliases. */
export const maxBreadth = 100
/** The maximum number of fields in all operations together. */
export const maxFields = 500
/**
 * The maximum number of characters of a name. The response repeats an alias for each entry of a list, and a name in
 * each error.
 */
export const maxName = 100

interface Size {
  depth: number
  /** Fields in the selection set itself. */
  breadth: number
  /** Fields at all levels. */
  fields: number
}

/** @throws QUERY_TOO_LARGE; INVALID_QUERY if a fragment contains itself */
export function requireSmall(document: DocumentNode): void {
  requireShortNames(document)
  const measure = measurer(document)
  let fields = 0
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    const size = measure(definition.selectionSet)
    fields += size.fields
    if (size.depth > maxDepth) throw tooLarge(`is ${size.depth} levels deep, the limit is ${maxDepth}`)
  }
  if (fields > maxFields) throw tooLarge(`selects ${fields} fields, the limit is ${maxFields}`)
}

function requireShortNames(document: DocumentNode): void {
  visit(document, {
    Name({ value }) {
      if (value.length > maxName) throw tooLarge(`has a name of ${value.length} characters, the limit is ${maxName}`)
    },
  })
}

export function tooLarge(what: string): AppError {
  return new AppError('QUERY_TOO_LARGE', `The document is too large: it ${what}. Split it into several requests.`)
}

function measurer(document: DocumentNode): (set: SelectionSetNode) => Size {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  const measured = new Map<string, Size | 'in progress'>()

  function measureFragment(name: string): Size {
    const known = measured.get(name)
    if (known === 'in progress') throw new AppError('INVALID_QUERY', `The fragment "${name}" contains itself.`)
    if (known) return known
    const fragment = fragments.get(name)
    // Validation rejects a fragment that does not exist.
    if (!fragment) return { depth: 0, breadth: 0, fields: 0 }
    measured.set(name, 'in progress')
    const size = measureSet(fragment.selectionSet)
    measured.set(name, size)
    return size
  }

  function measureSet(set: SelectionSetNode): Size {
    const size: Size = { depth: 0, breadth: 0, fields: 0 }
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        const below = node.selectionSet ? measureSet(node.selectionSet) : null
        size.breadth += 1
        size.fields += 1 + (below?.fields ?? 0)
        if (!node.name.value.startsWith('__')) size.depth = Math.max(size.depth, 1 + (below?.depth ?? 0))
      } else {
        const spread =
          node.kind === Kind.FRAGMENT_SPREAD ? measureFragment(node.name.value) : measureSet(node.selectionSet)
        size.breadth += spread.breadth
        size.fields += spread.fields
        size.depth = Math.max(size.depth, spread.depth)
      }
    }
    if (size.breadth > maxBreadth)
      throw tooLarge(`selects ${size.breadth} fields in one selection set, the limit is ${maxBreadth}`)
    return size
  }

  return measureSet
}

/**
 * Bounds on the form of a document, checked before it is validated: validation itself takes long on what is made to be
 * slow. Each fragment is measured once and counted wherever it is spread, so this takes a time linear in the text.
 */
import { type DocumentNode, type FragmentDefinitionNode, Kind, type SelectionSetNode, visit } from 'graphql'
import { AppError } from '../errors.ts'

/** Of the text. */
export const maxCharacters = 50_000
/** Twelve times what the standard introspection query has. */
export const maxTokens = 2000
/** Of fields; introspection, which goes deeper, has a bound of its own (graphql's MaxIntrospectionDepthRule). */
export const maxDepth = 12
/** Fields beside one another, under aliases or not. */
export const maxBreadth = 100
/** In all operations together. */
export const maxFields = 500
/** Of a name in the document, in characters: an alias is repeated with each entry of a list, a name in each error. */
export const maxName = 100

interface Size {
  depth: number
  /** In the selection set itself. */
  breadth: number
  /** With all below. */
  fields: number
}

/** @throws QUERY_TOO_LARGE; INVALID_QUERY for a fragment that contains itself */
export function requireSmall(document: DocumentNode): void {
  requireShortNames(document)
  const measure = measurer(document)
  let fields = 0
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    const size = measure(definition.selectionSet)
    fields += size.fields
    if (size.depth > maxDepth) throw tooLarge(`${size.depth} levels deep, the limit is ${maxDepth}`)
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
  return new AppError('QUERY_TOO_LARGE', `The document is too large: it ${what}. Ask in several requests.`)
}

function measurer(document: DocumentNode): (set: SelectionSetNode) => Size {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  const measured = new Map<string, Size | 'under way'>()

  function ofFragment(name: string): Size {
    const known = measured.get(name)
    if (known === 'under way') throw new AppError('INVALID_QUERY', `The fragment "${name}" contains itself.`)
    if (known) return known
    const fragment = fragments.get(name)
    // One that does not exist is refused by validation.
    if (!fragment) return { depth: 0, breadth: 0, fields: 0 }
    measured.set(name, 'under way')
    const size = ofSet(fragment.selectionSet)
    measured.set(name, size)
    return size
  }

  function ofSet(set: SelectionSetNode): Size {
    const size: Size = { depth: 0, breadth: 0, fields: 0 }
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        const below = node.selectionSet ? ofSet(node.selectionSet) : null
        size.breadth += 1
        size.fields += 1 + (below?.fields ?? 0)
        if (!node.name.value.startsWith('__')) size.depth = Math.max(size.depth, 1 + (below?.depth ?? 0))
      } else {
        const spread = node.kind === Kind.FRAGMENT_SPREAD ? ofFragment(node.name.value) : ofSet(node.selectionSet)
        size.breadth += spread.breadth
        size.fields += spread.fields
        size.depth = Math.max(size.depth, spread.depth)
      }
    }
    if (size.breadth > maxBreadth)
      throw tooLarge(`selects ${size.breadth} fields beside one another, the limit is ${maxBreadth}`)
    return size
  }

  return ofSet
}

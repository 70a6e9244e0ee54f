/**
 * Parses, bounds, validates and keeps documents. The shape of a document is bounded before validation, because a hostile document can
 * make validation slow. Each fragment is measured once and counted wherever it is spread, so the time is linear in the length of the
 * document.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  validate,
  visit,
} from 'graphql'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { maxErrors, RequestRefused } from './error-formatter.ts'

/** A valid document within the limits. */
interface CheckedDocument {
  document: DocumentNode
  operations: readonly OperationDefinitionNode[]
}

interface DocumentCache {
  /** @throws INVALID_QUERY, QUERY_TOO_LARGE as `RequestRefused` or `AppError` */
  get(source: string): CheckedDocument
}

/** The maximum number of documents in each cache. A document takes 0.6 MB at most. */
export const cacheSize = 100

/** Caches the documents that were used last, so that they are parsed and validated only once. */
export function createDocumentCache(schema: GraphQLSchema): DocumentCache {
  const known = new LruMap<string, CheckedDocument>(cacheSize)
  return {
    get(source) {
      const found = known.get(source)
      if (found) return found
      const checked = check(schema, source)
      known.set(source, checked)
      return checked
    },
  }
}

function check(schema: GraphQLSchema, source: string): CheckedDocument {
  if (source.length > maxCharacters) throw tooLarge(`has ${source.length} characters, the limit is ${maxCharacters}`)
  const document = parseBounded(source)
  requireBounded(document)
  const errors = validate(schema, document, undefined, { maxErrors })
  if (errors.length > 0) throw new RequestRefused('INVALID_QUERY', errors)
  const operations = document.definitions.filter(node => node.kind === Kind.OPERATION_DEFINITION)
  const missing = operations.find(node => !schema.getRootType(node.operation))
  if (missing) {
    const message = `This server does not support ${missing.operation}s.`
    throw new RequestRefused('INVALID_QUERY', [new GraphQLError(message, { nodes: missing })])
  }
  return { document, operations }
}

function parseBounded(source: string): DocumentNode {
  try {
    return parse(source, { maxTokens })
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
    // Only the message identifies this error.
    if (/ more tha[nt] \d+ tokens/.test(error.message)) throw tooLarge(`has more than ${maxTokens} tokens`)
    throw new RequestRefused('INVALID_QUERY', [withoutStrings(error)])
  }
}

/** Removes string literals, which may contain a password. */
function withoutStrings(error: GraphQLError): GraphQLError {
  const message = error.message.replace(/\b((?:Block)?String) ".*"/s, '$1')
  return new GraphQLError(message, { source: error.source, positions: error.positions })
}

/** Returns the operation that the request names, or the only one. @throws INVALID_INPUT as `RequestRefused` */
export function findOperation({ operations }: CheckedDocument, name: string | null): OperationDefinitionNode {
  const found = name === null ? operations : operations.filter(operation => operation.name?.value === name)
  const [only, another] = found
  if (only && !another) return only
  const message =
    name === null
      ? 'The document has several operations, or none: set "operationName" to the name of one.'
      : `The document has no operation named "${name}".`
  throw new RequestRefused('INVALID_INPUT', [new GraphQLError(message)])
}

/** The maximum number of characters of the document. */
const maxCharacters = 50_000
/** The maximum number of tokens in the document: twelve times as many as the standard introspection query has. */
const maxTokens = 2000
/** The maximum number of levels of fields. Introspection goes deeper; graphql's MaxIntrospectionDepthRule bounds it. */
const maxDepth = 12
/** The maximum number of fields in one selection set, with or without aliases. */
const maxBreadth = 100
/** The maximum number of fields in all operations together. */
const maxFields = 500
/**
 * The maximum number of characters of a name. The response repeats an alias for each entry of a list, and a name in
 * each error.
 */
const maxName = 100

interface Size {
  depth: number
  /** Fields in the selection set itself. */
  breadth: number
  /** Fields at all levels. */
  fields: number
}

/** @throws QUERY_TOO_LARGE; INVALID_QUERY if a fragment contains itself */
function requireBounded(document: DocumentNode): void {
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

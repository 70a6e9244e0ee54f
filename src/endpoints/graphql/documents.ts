import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql'
import { maxErrors, RequestRefused } from './error-formatter.ts'
import { maxCharacters, maxTokens, requireSmall, tooLarge } from './limits.ts'

/** A document that is small enough and valid. */
export interface KnownDocument {
  document: DocumentNode
  operations: readonly OperationDefinitionNode[]
}

export interface Documents {
  /** @throws INVALID_QUERY, QUERY_TOO_LARGE as `RequestRefused` or `AppError` */
  get(source: string): KnownDocument
}

/** The maximum number of documents in each cache. A document takes 0.6 MB at most. */
export const cacheSize = 100

/** Caches the documents that were used last, so that they are parsed and validated only once. */
export function createDocuments(schema: GraphQLSchema): Documents {
  const known = new Map<string, KnownDocument>()
  let latest: string | undefined
  return {
    get(source) {
      const found = known.get(source) ?? check(schema, source)
      // This is the most common case, and writing to the Map on each request would burden the garbage collector.
      if (source === latest) return found
      latest = source
      // Moves the document to the end, so the first one is the least recently used.
      known.delete(source)
      known.set(source, found)
      const [oldest] = known.keys()
      if (known.size > cacheSize && oldest !== undefined) known.delete(oldest)
      return found
    },
  }
}

function check(schema: GraphQLSchema, source: string): KnownDocument {
  if (source.length > maxCharacters) throw tooLarge(`has ${source.length} characters, the limit is ${maxCharacters}`)
  const document = parseBounded(source)
  requireSmall(document)
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
export function findOperation({ operations }: KnownDocument, name: string | null): OperationDefinitionNode {
  const found = name === null ? operations : operations.filter(operation => operation.name?.value === name)
  const [only, another] = found
  if (only && !another) return only
  const message =
    name === null
      ? 'The document has several operations, or none: set "operationName" to the name of one.'
      : `The document has no operation named "${name}".`
  throw new RequestRefused('INVALID_INPUT', [new GraphQLError(message)])
}

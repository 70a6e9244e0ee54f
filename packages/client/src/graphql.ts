import { type DocumentNode, parse, print } from '@0no-co/graphql.web'
import { errorOf, invalidResponse, isObject, networkError } from './error.ts'
import { parseEvents } from './events.ts'
import { type ShouldRetry, waitToRetry, withRetries } from './retry.ts'
import type { PageInfo } from './schema.ts'
import type { Transport } from './transport.ts'

/** A document with the types of its result and variables, as gql.tada, GraphQL Code Generator and others make it. */
export interface TypedDocumentNode<Result, Variables> {
  readonly kind: 'Document'
  readonly definitions: readonly unknown[]
  readonly __apiType?: (variables: Variables) => Result
}

export type TypedDocument<Result, Variables> = string | TypedDocumentNode<Result, Variables>

export interface RequestOptions {
  signal?: AbortSignal
}

export interface SubscribeOptions extends RequestOptions {
  /** Called when the subscription begins, and after each reconnection. */
  onOpen?: () => void
  /** Decides after a lost connection whether to connect again, instead of the rule of the client. */
  shouldRetry?: ShouldRetry
}

/** A list that the server sends in pages. */
export interface Connection<Node> {
  nodes: readonly Node[]
  pageInfo: Pick<PageInfo, 'hasNextPage' | 'endCursor'>
}

/** Runs queries, mutations and subscriptions. */
export class Graphql {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Runs a query or a mutation. Queries are repeated after temporary failures. Mutations are repeated only if the server
   * refused them because of its rate limit, because otherwise they may have had an effect.
   * @throws StowageError for the first error of the response
   */
  async run<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: Variables,
    { signal }: RequestOptions = {},
  ): Promise<Result> {
    const { query, hasMutation } = read(document)
    const retry = this.#transport.retryOf({ signal })
    const shouldRetry: ShouldRetry = (error, failures) =>
      (!hasMutation || error.reason === 'RATE_LIMITED') && retry.shouldRetry(error, failures)
    return withRetries(() => this.#once<Result>(query, variables, signal), { shouldRetry, signal })
  }

  async #once<Result>(query: string, variables: unknown, signal: AbortSignal | undefined): Promise<Result> {
    const response = await this.#post({ query, variables }, 'application/json', signal)
    const body: unknown = await response.json().catch(() => null)
    return dataOf<Result>(response, body)
  }

  /**
   * Yields the nodes of a connection, page after page. `$after` of the document is the cursor of the page.
   * @throws StowageError
   */
  async *nodes<Result, Node>(
    document: TypedDocument<Result, object>,
    variables: object,
    connectionOf: (result: Result) => Connection<Node>,
    options?: RequestOptions,
  ): AsyncGenerator<Node, void, undefined> {
    for (let after: string | null | undefined = null; ; ) {
      const page = connectionOf(await this.run<Result, object>(document, { ...variables, after }, options))
      yield* page.nodes
      if (!page.pageInfo.hasNextPage) return
      after = page.pageInfo.endCursor
    }
  }

  /**
   * Runs a subscription and yields the result of each event, over reconnections. The subscriptions of Stowage begin with the
   * present state, so no change is lost.
   * @throws StowageError
   */
  async *subscribe<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: Variables,
    { signal, onOpen, shouldRetry }: SubscribeOptions = {},
  ): AsyncGenerator<Result, void, undefined> {
    const retry = this.#transport.retryOf({ signal, ...(shouldRetry && { shouldRetry }) })
    let failures = 0
    const onConnected = () => {
      failures = 0
      onOpen?.()
    }
    for (;;) {
      try {
        return yield* this.#connect<Result, Variables>(document, variables, { signal, onOpen: onConnected })
      } catch (error) {
        failures += 1
        await waitToRetry(error, failures, retry)
      }
    }
  }

  async *#connect<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: Variables,
    { signal, onOpen }: { signal: AbortSignal | undefined; onOpen: () => void },
  ): AsyncGenerator<Result, void, undefined> {
    const response = await this.#post({ query: read(document).query, variables }, 'text/event-stream', signal)
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw errorOf(response, await response.json().catch(() => null))
    }
    onOpen()
    for await (const { event, data } of parseEvents(response.body, signal)) {
      if (event === 'complete') return
      if (event === 'next') yield dataOf<Result>(response, parseEvent(data, response))
    }
    throw networkError('The connection of the subscription broke.')
  }

  #post(body: object, accept: string, signal: AbortSignal | undefined): Promise<Response> {
    return this.#transport.send(this.#transport.urlOf('/graphql'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
  }
}

/** @throws StowageError, because the message of a SyntaxError quotes what the server sent */
function parseEvent(data: string, response: Response): unknown {
  try {
    return JSON.parse(data)
  } catch {
    throw invalidResponse('The server sent an event that is not JSON.', response)
  }
}

function dataOf<Result>(response: Response, body: unknown): Result {
  const hasErrors = isObject(body) && Array.isArray(body.errors) && body.errors.length > 0
  if (!isObject(body) || !isObject(body.data) || hasErrors) throw errorOf(response, body)
  return body.data as Result
}

interface ReadDocument {
  query: string
  hasMutation: boolean
}

/** Parsed documents, which are usually constants, so that each is printed once. */
const printedDocuments = new WeakMap<object, ReadDocument>()

function read(document: TypedDocument<unknown, never>): ReadDocument {
  if (typeof document === 'string')
    return { query: document, hasMutation: hasMutation(parse(document, { noLocation: true })) }
  const node = document as unknown as DocumentNode
  const result = printedDocuments.get(node) ?? { query: print(node), hasMutation: hasMutation(node) }
  printedDocuments.set(node, result)
  return result
}

function hasMutation({ definitions }: DocumentNode): boolean {
  return definitions.some(each => 'operation' in each && each.operation === 'mutation')
}

import { type DocumentNode, parse, print } from '@0no-co/graphql.web'
import { errorOf, invalidResponse, isObject, type StowageError } from './error.ts'
import { parseEvents } from './events.ts'
import { withRetries } from './retry.ts'
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
    const mayRetry = (error: StowageError) => (hasMutation ? error.reason === 'RATE_LIMITED' : error.retryable)
    return withRetries(() => this.#once<Result>(query, variables, signal), {
      retries: this.#transport.retries,
      signal,
      mayRetry,
    })
  }

  async #once<Result>(query: string, variables: unknown, signal: AbortSignal | undefined): Promise<Result> {
    const response = await this.#post({ query, variables }, 'application/json', signal)
    const body: unknown = await response.json().catch(() => null)
    return dataOf<Result>(response, body)
  }

  /**
   * Runs a subscription and yields the result of each event. It ends when the server ends it, and fails when the
   * connection breaks: subscribe again to continue.
   * @throws StowageError
   */
  async *subscribe<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: Variables,
    { signal }: RequestOptions = {},
  ): AsyncGenerator<Result, void, undefined> {
    const response = await this.#post({ query: read(document).query, variables }, 'text/event-stream', signal)
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw errorOf(response, await response.json().catch(() => null))
    }
    for await (const { event, data } of parseEvents(response.body, signal)) {
      if (event === 'complete') return
      if (event === 'next') yield dataOf<Result>(response, JSON.parse(data))
    }
    throw invalidResponse('The subscription broke off.', response)
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

function dataOf<Result>(response: Response, body: unknown): Result {
  const hasErrors = isObject(body) && Array.isArray(body.errors) && body.errors.length > 0
  if (!isObject(body) || !isObject(body.data) || hasErrors) throw errorOf(response, body)
  return body.data as Result
}

function read(document: TypedDocument<unknown, never>): { query: string; hasMutation: boolean } {
  const node =
    typeof document === 'string' ? parse(document, { noLocation: true }) : (document as unknown as DocumentNode)
  const hasMutation = node.definitions.some(each => 'operation' in each && each.operation === 'mutation')
  return { query: typeof document === 'string' ? document : print(node), hasMutation }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationDefinitionNode } from 'graphql'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import type { RequestMemory } from '../../http/memory.ts'
import type { Services } from '../../services/index.ts'
import { ResponseBudget } from './response-size.ts'

/** Reads facts of a request on demand, because many operations need neither the signal nor the address. */
export interface RequestFacts {
  viewerOf(request: FastifyRequest): Viewer | null
  originOf(request: FastifyRequest): Origin
  /** Aborts when the client disconnects. */
  signalOf(request: FastifyRequest): AbortSignal
  /** Makes a closing server wait for the work. */
  track<T>(work: Promise<T>): Promise<T>
  /** Runs an operation and observes it. */
  observe<T>(operation: OperationDefinitionNode, execute: () => T): T
  /** Sends server-sent events as the response. `data` is one line. */
  sendEvents(
    request: FastifyRequest,
    reply: FastifyReply,
    events: AsyncIterable<{ event: string; data: string }>,
  ): Promise<void>
  /** Returns the URL at which clients reach the server, without a trailing `/`. */
  baseUrlOf(request: FastifyRequest): string
  /** Returns the URL at which clients reach the S3 endpoint. */
  s3EndpointOf(request: FastifyRequest): string
}

/** The state that the resolvers of one request share. */
export class GraphqlContext {
  readonly services: Services
  readonly viewer: Viewer | null
  readonly requestId: string
  readonly response: ResponseBudget
  readonly #facts: RequestFacts
  readonly #request: FastifyRequest
  readonly #providers = new Map<string, Promise<ProviderRecord>>()
  readonly #accessible = new Map<Viewer, Promise<ReadonlyMap<string, ProviderRecord>>>()

  /** @param viewer the viewer of the request; for an event of a subscription, the viewer at that time */
  constructor(
    services: Services,
    facts: RequestFacts,
    request: FastifyRequest,
    memory: RequestMemory,
    viewer: Viewer | null = facts.viewerOf(request),
  ) {
    this.services = services
    this.viewer = viewer
    this.requestId = request.id
    this.response = new ResponseBudget(memory)
    this.#facts = facts
    this.#request = request
  }

  get signal(): AbortSignal {
    return this.#facts.signalOf(this.#request)
  }

  get origin(): Origin {
    return this.#facts.originOf(this.#request)
  }

  get baseUrl(): string {
    return this.#facts.baseUrlOf(this.#request)
  }

  get s3Endpoint(): string {
    return this.#facts.s3EndpointOf(this.#request)
  }

  /** Returns the provider; looks it up once per request. @throws as `services.providers.get` */
  provider(id: string): Promise<ProviderRecord> {
    return memoize(this.#providers, id, () => this.services.providers.get(this.viewer, id))
  }

  /** Returns the providers that the viewer can access, by ID, in one query. Empty without the scope `read`. */
  accessibleProviders(viewer: Viewer | null): Promise<ReadonlyMap<string, ProviderRecord>> {
    if (!viewer || viewer.scope === null) return Promise.resolve(new Map())
    return memoize(this.#accessible, viewer, async () => {
      const records = await this.services.providers.list(viewer)
      return new Map(records.map(record => [record.id, record]))
    })
  }

  /** Call this after a mutation changes a provider, so that later mutations of the document see the change. */
  forgetProviders(): void {
    this.#providers.clear()
    this.#accessible.clear()
  }
}

function memoize<Key, Value>(known: Map<Key, Value>, key: Key, load: () => Value): Value {
  const value = known.get(key) ?? load()
  known.set(key, value)
  return value
}

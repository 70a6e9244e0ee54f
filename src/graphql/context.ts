import type { FastifyRequest } from 'fastify'
import { networkOf } from '../auth/network.ts'
import type { Origin, Viewer } from '../auth/viewer.ts'
import type { ProviderRecord } from '../db/providers.ts'
import type { Services } from '../services/index.ts'
import type { HeldResponses } from './held-responses.ts'
import { ResponseBudget } from './response-size.ts'

/** What a request brings along; many need neither the signal nor the address. */
export interface RequestFacts {
  viewerOf(request: FastifyRequest): Viewer | null
  originOf(request: FastifyRequest): Origin
  /** Aborts when the client goes away. */
  signalOf(request: FastifyRequest): AbortSignal
  /** Waits for work that changes something before the server ends. */
  track<T>(work: Promise<T>): Promise<T>
  /** Where clients reach the server, without a `/` at its end. */
  baseUrlOf(request: FastifyRequest): string
}

/** What the resolvers of one request share. */
export class GraphqlContext {
  readonly services: Services
  readonly viewer: Viewer | null
  readonly requestId: string
  readonly response: ResponseBudget
  readonly #facts: RequestFacts
  readonly #request: FastifyRequest
  readonly #providers = new Map<string, Promise<ProviderRecord>>()
  readonly #reachable = new Map<Viewer, Promise<ReadonlyMap<string, ProviderRecord>>>()

  constructor(services: Services, facts: RequestFacts, request: FastifyRequest, held: HeldResponses) {
    this.services = services
    this.viewer = facts.viewerOf(request)
    this.requestId = request.id
    const holder = this.viewer?.member.userId ?? networkOf(facts.originOf(request).address)
    this.response = new ResponseBudget(held, holder)
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

  /** Looked up once, however many entries of a page ask. @throws as `services.providers.get` */
  provider(id: string): Promise<ProviderRecord> {
    return remember(this.#providers, id, () => this.services.providers.get(this.viewer, id))
  }

  /** All that somebody reaches, by id, in one query; none without the scope `read`. */
  reachableProviders(viewer: Viewer | null): Promise<ReadonlyMap<string, ProviderRecord>> {
    if (!viewer || viewer.scope === null) return Promise.resolve(new Map())
    return remember(this.#reachable, viewer, async () => {
      const records = await this.services.providers.list(viewer)
      return new Map(records.map(record => [record.id, record]))
    })
  }

  /** To be called once a mutation has changed one: the next mutation of the document sees it as it is now. */
  forgetProviders(): void {
    this.#providers.clear()
    this.#reachable.clear()
  }
}

function remember<Key, Value>(known: Map<Key, Value>, key: Key, find: () => Value): Value {
  const value = known.get(key) ?? find()
  known.set(key, value)
  return value
}

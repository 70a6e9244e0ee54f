import type { FastifyRequest } from 'fastify'
import type { OperationDefinitionNode } from 'graphql'
import { type RelyingParty, relyingPartyOf } from '../../auth/passkeys.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { originOf } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import type { RequestMemory } from '../../http/memory.ts'
import { s3EndpointOf } from '../../http/s3-target.ts'
import { baseUrlOf } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import type { Settings } from '../../settings/index.ts'
import { ResponseBudget } from './response-size.ts'

/** The parts of the server that GraphQL uses. */
export interface GraphqlOptions {
  services: Services
  settings: Pick<Settings, 'basePath' | 'publicUrl' | 's3Domain'>
  /** Runs an operation and observes it. */
  observe: <T>(operation: OperationDefinitionNode, execute: () => T) => T
  /** Milliseconds between two comments in a stream of events; undefined for the default. */
  heartbeat: number | undefined
}

/** The state that the resolvers of one request share. */
export class GraphqlContext {
  readonly services: Services
  readonly viewer: Viewer | null
  readonly requestId: string
  readonly response: ResponseBudget
  readonly #settings: GraphqlOptions['settings']
  readonly #request: FastifyRequest
  // Most documents need neither.
  #providers: Map<string, Promise<ProviderRecord>> | null = null
  #accessible: Map<Viewer, Promise<ReadonlyMap<string, ProviderRecord>>> | null = null

  /** @param viewer the viewer of the request; for an event of a subscription, the viewer at that time */
  constructor(
    { services, settings }: GraphqlOptions,
    request: FastifyRequest,
    memory: RequestMemory,
    viewer: Viewer | null = request.viewer,
  ) {
    this.services = services
    this.viewer = viewer
    this.requestId = request.id
    this.response = new ResponseBudget(memory)
    this.#settings = settings
    this.#request = request
  }

  /** Aborts when the client disconnects. */
  get signal(): AbortSignal {
    return requestSignal(this.#request)
  }

  get origin(): Origin {
    return originOf(this.#request)
  }

  /** The URL at which clients reach the server, without a trailing `/`. */
  get baseUrl(): string {
    return baseUrlOf(this.#request, this.#settings.publicUrl)
  }

  /** The site to which passkeys belong. */
  get party(): RelyingParty {
    return relyingPartyOf(this.baseUrl)
  }

  /** The URL at which clients reach the S3 endpoint. */
  get s3Endpoint(): string {
    return s3EndpointOf(this.baseUrl, this.#settings.s3Domain)
  }

  /** Returns the provider; looks it up once per request. @throws as `services.providers.get` */
  provider(id: string): Promise<ProviderRecord> {
    this.#providers ??= new Map()
    return memoize(this.#providers, id, () => this.services.providers.get(this.viewer, id))
  }

  /** Returns the providers that the viewer can access, by ID, in one query. Empty without the scope `read`. */
  accessibleProviders(viewer: Viewer | null): Promise<ReadonlyMap<string, ProviderRecord>> {
    if (!viewer || viewer.scope === null) return Promise.resolve(new Map())
    this.#accessible ??= new Map()
    return memoize(this.#accessible, viewer, async () => {
      const records = await this.services.providers.list(viewer)
      return new Map(records.map(record => [record.id, record]))
    })
  }

  /** Call this after a mutation changes a provider, so that later mutations of the document see the change. */
  forgetProviders(): void {
    this.#providers = null
    this.#accessible = null
  }
}

function memoize<Key, Value>(known: Map<Key, Value>, key: Key, load: () => Value): Value {
  const value = known.get(key) ?? load()
  known.set(key, value)
  return value
}

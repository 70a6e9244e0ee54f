/** The provider that a request names, so that the query that loads the credential also reads the version of the provider. */
import type { FastifyRequest } from 'fastify'
import { isId } from '../auth/id.ts'
import type { ProviderName } from '../auth/viewer.ts'
import { isSlug } from '../services/providers/slug.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Returns what the URL of a request has as the slug of a provider, for routes whose URLs have one. */
    slugOf?: (request: FastifyRequest) => string | null
  }
}

const parameter = /[?&]providerId=([\da-f-]{36})(?:&|$)/

/** Returns null if the request names none in the usual spelling. The route still parses its address itself. */
export function namedProvider(request: FastifyRequest): ProviderName | null {
  const { slugOf } = request.routeOptions.config
  if (slugOf) {
    const slug = slugOf(request)
    return slug !== null && isSlug(slug) ? { slug } : null
  }
  const id = parameter.exec(request.raw.url ?? '')?.[1]
  return id !== undefined && isId(id) ? { id } : null
}

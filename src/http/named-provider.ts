/** The provider that a request names, so that the query that loads the credential also reads the version of the provider. */
import type { FastifyRequest } from 'fastify'
import { isId } from '../auth/id.ts'
import type { ProviderName } from '../auth/viewer.ts'
import { isSlug } from '../services/providers/slug.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The first segment of the path of the route, such as `/s3`, if the next one is the slug of a provider. */
    slugsBelow?: string
  }
}

const parameter = /[?&]providerId=([\da-f-]{36})(?:&|$)/
const segmentEnd = /[/?]/

/** Returns null if the request names none in the usual spelling. The route still parses its address itself. */
export function namedProvider({ raw: { url = '' }, routeOptions }: FastifyRequest): ProviderName | null {
  const { slugsBelow } = routeOptions.config
  if (slugsBelow !== undefined) {
    const slug = url.slice(slugsBelow.length + 1).split(segmentEnd, 1)[0] ?? ''
    return isSlug(slug) ? { slug } : null
  }
  const id = parameter.exec(url)?.[1]
  return id !== undefined && isId(id) ? { id } : null
}

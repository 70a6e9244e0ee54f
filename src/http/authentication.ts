/**
 * Authenticates requests. The query that loads the credential also reads the version of the provider that the request names.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Audience, isAccessToken } from '../auth/access-tokens.ts'
import { isId } from '../auth/id.ts'
import { freshness, type Origin, type ProviderName, type Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import { nextRound } from '../lib/event-loop.ts'
import { settle } from '../lib/settle.ts'
import type { Services } from '../services/index.ts'
import { isSlug } from '../services/providers/settings.ts'
import { cookieToken } from './session-cookie.ts'
import { findBelow } from './url.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if the request has no credential. */
    viewer: Viewer | null
  }
  interface FastifyContextConfig {
    /** The route has no rate limit, because monitoring must always get a response. */
    unlimited?: true
    authenticate?: Authenticate
    /** Returns what the URL of a request has as the slug of a provider, for routes whose URLs have one. */
    slugOf?: (request: FastifyRequest) => string | null
  }
  interface FastifyInstance {
    /** The authenticators for requests that match no route, by the path of their front end. */
    authenticators: Map<string, Authenticate>
  }
}

/**
 * Authenticates a request whose credential has a form that only this route accepts. Returns null for any other request, which is
 * then authenticated as everywhere. Resolves with null for a credential that stands for no member.
 */
type Authenticate = (request: FastifyRequest) => Promise<Viewer | null> | null

/** Returns an authenticator that also accepts access tokens for one part of the server alone. */
export function acceptTokensFor(audience: Audience, { credentials }: Services): Authenticate {
  return request => {
    const token = scheme.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined || !isAccessToken(token)) return null
    return credentials.authenticate(token, originOf(request), namedProvider(request), audience)
  }
}

/** Returns the token in the header `Authorization`, or null. */
export function bearerToken({ headers }: FastifyRequest): string | null {
  return scheme.exec(headers.authorization ?? '')?.[1] ?? null
}

/** RFC 6750, section 2.1. The only other way to send a credential is the console's cookie. */
const scheme = /^Bearer +(\S+)$/i

/**
 * Authenticates each request and counts it by its credential or address. Every route refuses an invalid credential before
 * it reads the body. The credential is checked again after the body, because it may have been revoked meanwhile.
 */
export function authenticateRequests(app: FastifyInstance, { credentials, requestLimits }: Services): void {
  app.decorate('authenticators', new Map<string, Authenticate>())
  app.decorateRequest('viewer', null)
  app.addHook('onRequest', async request => {
    await nextRound()
    const { authorization } = request.headers
    const { config } = request.routeOptions
    const authenticate = request.is404 ? findBelow(app.authenticators, request.url) : config.authenticate
    const authenticating = authenticate?.(request)
    if (authenticating) {
      request.viewer = await authenticating
      return
    }
    if (authorization === undefined) {
      const session = config.ignoresCookie ? null : cookieToken(request)
      if (session !== null) {
        request.viewer = await credentials.authenticateSession(session, originOf(request), namedProvider(request))
      } else if (!config.unlimited) requestLimits.countAnonymous(request.ip)
      return
    }
    const token = scheme.exec(authorization)?.[1]
    if (!token) {
      requestLimits.countAnonymous(request.ip)
      throw new AppError('INVALID_CREDENTIAL', 'The Authorization header must be "Bearer <token or API key>".')
    }
    request.viewer = await credentials.authenticate(token, originOf(request), namedProvider(request))
  })
  const confirm = async (request: FastifyRequest, viewer: Viewer) => {
    request.viewer = await credentials.confirm(viewer)
  }
  app.addHook('preHandler', (request, _reply, done) => {
    const { viewer } = request
    if (!viewer || performance.now() - viewer.confirmedAt < freshness) done()
    else void settle(confirm(request, viewer), done)
  })
}

/** Sets the authenticator for requests below a path that match no route, such as requests with an unknown method. */
export function authenticateUnknownBelow(app: FastifyInstance, path: string, authenticate: Authenticate): void {
  app.authenticators.set(path, authenticate)
}

export function originOf({ ip, id, headers, raw }: FastifyRequest): Origin {
  return { address: ip, requestId: id, connection: raw.socket, userAgent: headers['user-agent'] }
}

const parameter = /[?&]providerId=([\da-f-]{36})(?:&|$)/

/** Returns the provider that a request names; null if it names none in the usual spelling. The route still parses its address itself. */
export function namedProvider(request: FastifyRequest): ProviderName | null {
  const { slugOf } = request.routeOptions.config
  if (slugOf) {
    const slug = slugOf(request)
    return slug !== null && isSlug(slug) ? { slug } : null
  }
  const id = parameter.exec(request.raw.url ?? '')?.[1]
  return id !== undefined && isId(id) ? { id } : null
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Origin, Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import type { Services } from '../services/index.ts'
import { cookieToken } from './session-cookie.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where the request has no credential. */
    viewer: Viewer | null
  }
  interface FastifyContextConfig {
    /** For what must be answered however many ask, as it says whether the server is well. */
    unlimited?: true
  }
}

/** RFC 6750, section 2.1; beside it there is only the cookie of the console. */
const scheme = /^Bearer +(\S+)$/i

/**
 * Counts each request, by its credential or by its address. A credential that is presented and not good is refused on every
 * route, before the body is read; and again behind a body that was long in coming, as it may have been revoked meanwhile.
 */
export function authenticateRequests(app: FastifyInstance, { credentials, requestLimits }: Services): void {
  app.decorateRequest('viewer', null)
  app.addHook('onRequest', async request => {
    const { authorization } = request.headers
    const { config } = request.routeOptions
    if (authorization === undefined) {
      const session = config.ignoresCookie ? null : cookieToken(request)
      if (session !== null) request.viewer = await credentials.authenticateSession(session, originOf(request))
      else if (!config.unlimited) requestLimits.countAnonymous(request.ip)
      return
    }
    const token = scheme.exec(authorization)?.[1]
    if (!token) {
      requestLimits.countAnonymous(request.ip)
      throw new AppError('INVALID_CREDENTIAL', 'The Authorization header reads "Bearer <token or API key>".')
    }
    request.viewer = await credentials.authenticate(token, originOf(request))
  })
  app.addHook('preHandler', async request => {
    if (request.viewer) request.viewer = await credentials.confirm(request.viewer)
  })
}

export function originOf({ ip, id }: FastifyRequest): Origin {
  return { address: ip, requestId: id }
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import type { Services } from '../services/index.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where the request has no credential. */
    viewer: Viewer | null
  }
  interface FastifyContextConfig {
    /**
     * For a route whose body is small and read whole: the credential is looked up once the body is there, so that what
     * was revoked while it came in slowly is refused.
     */
    authenticatesLate?: boolean
  }
}

const scheme = /^Bearer +(\S+)$/i

/** A credential that is presented and not good is refused on every route, with few exceptions before the body is read. */
export function authenticateRequests(app: FastifyInstance, { credentials }: Services): void {
  app.decorateRequest('viewer', null)
  const authenticate = async (request: FastifyRequest) => {
    const token = bearerToken(request)
    if (token !== null) request.viewer = await credentials.authenticate(token)
  }
  app.addHook('onRequest', async request => {
    if (!request.routeOptions.config.authenticatesLate) await authenticate(request)
  })
  app.addHook('preHandler', async request => {
    if (request.routeOptions.config.authenticatesLate) await authenticate(request)
  })
}

/** RFC 6750, section 2.1: the header, and nowhere else. @throws INVALID_CREDENTIAL */
function bearerToken(request: FastifyRequest): string | null {
  const header = request.headers.authorization
  if (header === undefined) return null
  const token = scheme.exec(header)?.[1]
  if (!token) throw new AppError('INVALID_CREDENTIAL', 'The Authorization header reads "Bearer <token or API key>".')
  return token
}

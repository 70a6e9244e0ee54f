import type { FastifyInstance } from 'fastify'
import { requireSession } from '../auth/policy.ts'
import { AppError } from '../errors.ts'
import { clearSessionCookie, setSessionCookie } from '../http/session-cookie.ts'

const sessionPath = '/console/session'

/**
 * `POST` stores the session token from the Authorization header in the cookie. `DELETE` removes the cookie, needs no
 * credential, and does not end the session.
 */
export function consoleSessionRoutes(app: FastifyInstance, basePath: string): void {
  const path = `${basePath}/`
  app.post(sessionPath, (request, reply) => {
    const { expiresAt } = requireSession(request.viewer)
    const token = request.headers.authorization?.replace(/^Bearer +/i, '')
    if (!token) throw new AppError('SESSION_REQUIRED', 'Send the session token in the Authorization header.')
    setSessionCookie(request, reply, { token, expiresAt, path })
    return reply.status(204).send()
  })
  app.delete(sessionPath, { config: { ignoresCookie: true } }, (request, reply) => {
    clearSessionCookie(request, reply, path)
    return reply.status(204).send()
  })
}

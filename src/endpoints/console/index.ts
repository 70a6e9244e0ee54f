/** The console: its pages, the manifest that installs it, and the cookie with its session. */
import type { FastifyInstance } from 'fastify'
import { requireAnySession } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { Operation } from '../../http/openapi/operation.ts'
import { clearSessionCookie, setSessionCookie } from '../../http/session-cookie.ts'
import type { Services } from '../../services/index.ts'
import { manifestRoute } from './manifest.ts'
import { consoleRoutes } from './pages.ts'

/** Adds the console's pages, its manifest and its session cookie. @param basePath "/stowage"; empty for the root */
export async function registerConsole(app: FastifyInstance, services: Services, basePath: string): Promise<void> {
  consoleSessionRoutes(app, basePath)
  manifestRoute(app, services, basePath)
  await consoleRoutes(app, basePath)
}

const sessionPath = '/console/session'

const setCookie = { description: 'The cookie, or its removal.', schema: { type: 'string' } }

const storeSession: Operation = {
  id: 'storeConsoleSession',
  tag: 'Console',
  summary: 'Stores the session token of the Authorization header in the cookie of the console.',
  security: [['bearer']],
  responses: { 204: { description: 'The cookie is set.', headers: { 'Set-Cookie': setCookie } } },
  reasons: ['CREDENTIAL_REQUIRED', 'SESSION_REQUIRED'],
}

const removeSession: Operation = {
  id: 'removeConsoleSession',
  tag: 'Console',
  summary: 'Removes the cookie of the console. The session does not end.',
  security: [],
  responses: { 204: { description: 'The cookie is removed.', headers: { 'Set-Cookie': setCookie } } },
  reasons: [],
}

/**
 * `POST` stores the session token from the Authorization header in the cookie. `DELETE` removes the cookie, needs no
 * credential, and does not end the session.
 */
function consoleSessionRoutes(app: FastifyInstance, basePath: string): void {
  const path = `${basePath}/`
  app.post(sessionPath, { config: { operations: { POST: storeSession } } }, (request, reply) => {
    const { expiresAt } = requireAnySession(request.viewer)
    const token = request.headers.authorization?.replace(/^Bearer +/i, '')
    if (!token) throw new AppError('SESSION_REQUIRED', 'Send the session token in the Authorization header.')
    setSessionCookie(request, reply, { token, expiresAt, path })
    return reply.status(204).send()
  })
  const config = { ignoresCookie: true, operations: { DELETE: removeSession } }
  app.delete(sessionPath, { config }, (request, reply) => {
    clearSessionCookie(request, reply, path)
    return reply.status(204).send()
  })
}

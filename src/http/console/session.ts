/**
 * The session of a browser: the token in a cookie that no script can read. It counts only beside a header that a page of
 * another site cannot send, as nothing here answers a CORS preflight; so no foreign form, link or image acts with it.
 */
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireSession } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'

const sessionPath = '/console/session'
const cookieName = 'stowage_session'
/** Sent with any value by the console's own scripts. */
export const consoleHeader = 'x-stowage-console'

export async function acceptSessionCookies(app: FastifyInstance): Promise<void> {
  await app.register(cookie)
}

/** The token in the cookie; null where it does not count. */
export function cookieToken({ headers, cookies }: FastifyRequest): string | null {
  return headers[consoleHeader] === undefined ? null : (cookies[cookieName] ?? null)
}

/**
 * `POST`, with a session token as a bearer token, puts it into the cookie; `DELETE`, which needs no credential, takes it
 * out and leaves the session as it is.
 */
export function consoleSessionRoutes(app: FastifyInstance): void {
  app.post(sessionPath, (request, reply) => {
    const { expiresAt } = requireSession(request.viewer)
    const token = request.headers.authorization?.replace(/^Bearer +/i, '')
    if (!token) throw new AppError('SESSION_REQUIRED', 'Send the token of the session in the Authorization header.')
    reply.setCookie(cookieName, token, { ...attributes(request), ...(expiresAt && { expires: expiresAt }) })
    return done(reply)
  })
  app.delete(sessionPath, { config: { ignoresCookie: true } }, (request, reply) => {
    reply.clearCookie(cookieName, attributes(request))
    return done(reply)
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A cookie that is no longer good does not keep the request away. */
    ignoresCookie?: boolean
  }
}

function attributes({ protocol }: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'strict', secure: protocol === 'https' } as const
}

function done(reply: FastifyReply): FastifyReply {
  return reply.status(204).send()
}

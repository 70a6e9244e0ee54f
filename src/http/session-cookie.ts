/**
 * The console's session cookie, which no script can read. The server accepts it only together with a header that pages of
 * other origins cannot send, because no CORS preflight permits it. Their forms, links, images and scripts therefore cannot
 * act with it.
 */
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

export const sessionCookie = 'stowage_session'
/** The console's scripts send this header with any value. */
const consoleHeader = 'x-stowage-console'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route works although the cookie's session has ended. */
    ignoresCookie?: boolean
  }
}

export async function acceptSessionCookies(app: FastifyInstance): Promise<void> {
  // Few requests need their cookies.
  await app.register(cookie, { hook: false })
}

/** Returns the token in the cookie; null if there is none or the header is missing. */
export function cookieToken(request: FastifyRequest): string | null {
  return request.headers[consoleHeader] === undefined ? null : cookieOf(request, sessionCookie)
}

/** Returns the value of a cookie of the request, or null. */
export function cookieOf({ server, headers }: FastifyRequest, name: string): string | null {
  return server.parseCookie(headers.cookie ?? '')[name] ?? null
}

/** @param path the path of the console's pages, below which the browser sends the cookie */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, expiresAt, path }: { token: string; expiresAt: Date | null; path: string },
): void {
  reply.setCookie(sessionCookie, token, { ...attributes(request, path), ...(expiresAt && { expires: expiresAt }) })
}

export function clearSessionCookie(request: FastifyRequest, reply: FastifyReply, path: string): void {
  reply.clearCookie(sessionCookie, attributes(request, path))
}

function attributes({ protocol }: FastifyRequest, path: string) {
  return { path, httpOnly: true, sameSite: 'strict', secure: protocol === 'https' } as const
}

/** The cookie that tells one browser from another between the page that says who asks and the vendor's redirect. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createBrowserKey, isBrowserKey } from '../../auth/oauth-state.ts'

/** Seconds; longer than a consent may take. */
const maxAge = 15 * 60

/** Null where the browser has none. */
export function browserKeyOf(request: FastifyRequest): string | null {
  const key = request.cookies[cookieName(request)]
  return key !== undefined && isBrowserKey(key) ? key : null
}

/** The key that the browser has, so that several consents can be under way in it, or a new one. */
export function keepBrowserKey(request: FastifyRequest, reply: FastifyReply): string {
  const key = browserKeyOf(request) ?? createBrowserKey()
  // Lax: the vendor's redirect comes from another site.
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(request), maxAge } as const
  reply.setCookie(cookieName(request), key, attributes)
  return key
}

/** With TLS, no other host of the domain can set it (RFC 6265bis, section 4.1.3.2). */
function cookieName(request: FastifyRequest): string {
  return isSecure(request) ? '__Host-stowage_consent' : 'stowage_consent'
}

function isSecure({ protocol }: FastifyRequest): boolean {
  return protocol === 'https'
}

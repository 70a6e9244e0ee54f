/** The cookie that identifies a browser from the first page of the consent to the vendor's redirect. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createBrowserKey, isBrowserKey } from '../../../auth/oauth-state.ts'
import { cookieOf } from '../../../http/session-cookie.ts'

/** The lifetime of the cookie in seconds, which is longer than a consent can take. */
const maxAge = 15 * 60

/** Returns null if the browser has no valid key. */
export function browserKeyOf(request: FastifyRequest): string | null {
  const key = cookieOf(request, cookieName(request))
  return key !== null && isBrowserKey(key) ? key : null
}

/** Returns the key of the browser, or sets a new one. Keeping it allows several consents at the same time. */
export function keepBrowserKey(request: FastifyRequest, reply: FastifyReply): string {
  const key = browserKeyOf(request) ?? createBrowserKey()
  // Lax, because the vendor's redirect comes from another site.
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(request), maxAge } as const
  reply.setCookie(cookieName(request), key, attributes)
  return key
}

/** With TLS, the `__Host-` prefix prevents other hosts of the domain from setting it (RFC 6265bis, section 4.1.3.2). */
function cookieName(request: FastifyRequest): string {
  return isSecure(request) ? '__Host-stowage_consent' : 'stowage_consent'
}

function isSecure({ protocol }: FastifyRequest): boolean {
  return protocol === 'https'
}

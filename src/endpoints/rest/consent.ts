/**
 * The pages of an OAuth consent: one before the browser goes to the vendor, and one for its return. A cookie identifies the
 * browser from the first page to the second.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createBrowserKey, isBrowserKey } from '../../auth/tokens.ts'
import type { Reason } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { type Operation, text } from '../../http/openapi/operation.ts'
import { cookieOf } from '../../http/session-cookie.ts'
import type { Services } from '../../services/index.ts'
import { html, sendFailure, sendPage } from './consent-page.ts'

/**
 * Adds `GET ?ticket=`, a page that says who asks for consent before the browser goes to the vendor, because the URL may have
 * been sent to another person. The link to the vendor works only in this browser.
 */
export function oauthStartRoute(app: FastifyInstance, { authorization }: Services): void {
  app.get(
    '/oauth/start',
    { exposeHeadRoute: false, config: { operations: { GET: startConsent } } },
    async (request, reply) => {
      const ticket = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '').get('ticket') ?? ''
      try {
        const pending = await authorization.pending(ticket, originOf(request))
        const { email, workspaceName, providerName, vendor } = pending
        const url = pending.vendorUrl(keepBrowserKey(request, reply))
        return sendPage(reply, `Give Stowage access to your files at ${vendor}?`, [
          html`<p><b><bdi>${email}</bdi></b> wants to connect a ${vendor} account to the workspace
<b><bdi>${workspaceName}</bdi></b> as the storage <b><bdi>${providerName}</bdi></b>.</p>`,
          html`<p>If you continue and agree there, the files of <strong>your</strong> account become part of this workspace: its
administrators decide who reads, changes and deletes them.</p>`,
          html`<p>Continue only if you started this yourself, or if you trust the sender and want to share your files.
Otherwise close this page.</p>`,
          html`<p><a href="${url}" class="button" rel="noreferrer">Continue to ${vendor}</a></p>`,
          html`<p class="help">Stowage does not check that an email address belongs to the person who registered with it.</p>`,
        ])
      } catch (error) {
        return sendFailure(error, request, reply)
      }
    },
  )
}

/**
 * Adds `GET ?code=&state=` and `?error=&error_description=&state=` (RFC 6749, section 4.1.2), to which a vendor's consent
 * page redirects the browser. A `state` works once, so the route does not accept HEAD.
 */
export function oauthCallbackRoute(app: FastifyInstance, { authorization }: Services): void {
  const config = { operations: { GET: completeConsent } }
  app.get('/webhook/callback', { exposeHeadRoute: false, config }, async (request, reply) => {
    const query = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '')
    const callback = { code: query.get('code'), state: query.get('state'), error: query.get('error') }
    try {
      const { name } = await authorization.complete(callback, browserKeyOf(request), originOf(request))
      return sendPage(reply, `“${name}” is connected`, [
        html`<p>Stowage can use the storage now. You can close this page.</p>`,
      ])
    } catch (error) {
      return sendFailure(error, request, reply, query.get('error_description') ?? query.get('error'))
    }
  })
}

/** The lifetime of the cookie in seconds, which is longer than a consent can take. */
const maxAge = 15 * 60

/** Returns null if the browser has no valid key. */
function browserKeyOf(request: FastifyRequest): string | null {
  const key = cookieOf(request, cookieName(request))
  return key !== null && isBrowserKey(key) ? key : null
}

/** Returns the key of the browser, or sets a new one. Keeping it allows several consents at the same time. */
function keepBrowserKey(request: FastifyRequest, reply: FastifyReply): string {
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

const reasons: readonly Reason[] = [
  'INVALID_STATE',
  'SCOPE_REQUIRED',
  'PROVIDER_NOT_ALLOWED',
  'NOT_FOUND',
  'INVALID_CONFIG',
  'BACK_END_REFUSED',
  'BACK_END_FAULT',
  'BACK_END_CREDENTIALS',
  'NEEDS_RECONNECT',
  'BACK_END_RATE_LIMITED',
]

const startConsent: Operation = {
  id: 'startConsent',
  tag: 'Consent',
  summary: 'The page that says who asks for consent and links to the provider.',
  description: 'People open it at the `authorizationUrl` of the GraphQL API.',
  security: [],
  query: { ticket: { description: 'The token in the `authorizationUrl`.', required: true, schema: text } },
  responses: {
    200: {
      description: 'A page.',
      headers: { 'Set-Cookie': { description: 'Identifies the browser until the consent ends.', schema: text } },
      content: { 'text/html': text },
    },
  },
  reasons,
  sendsPages: true,
}

const completeConsent: Operation = {
  id: 'completeConsent',
  tag: 'Consent',
  summary: 'Receives the browser after the consent page of a provider (RFC 6749, section 4.1.2).',
  description: 'Each `state` works once, for ten minutes, and only with the cookie that the first page set.',
  security: [],
  query: {
    state: { description: 'The state of the consent.', required: true, schema: text },
    code: { description: 'The authorization code.', schema: text },
    error: { description: 'The error of a consent that was refused.', schema: text },
    error_description: { description: 'The explanation of the provider.', schema: text },
  },
  responses: { 200: { description: 'A page: the storage is connected.', content: { 'text/html': text } } },
  reasons: [...reasons, 'AUTHORIZATION_REFUSED'],
  sendsPages: true,
}

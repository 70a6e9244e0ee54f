/** The addresses of single sign-on: one sends the browser to the issuer, and the issuer sends it back to the other. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toAppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { ClientGone, requestSignal } from '../../http/connection/client-abort.ts'
import { logError } from '../../http/error-handler.ts'
import { type Operation, text } from '../../http/openapi/operation.ts'
import { cookieOf, sessionCookie, setSessionCookie } from '../../http/session-cookie.ts'
import { baseUrlOf, splitUrl } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import { callbackPath } from '../../services/people/issuer-registry.ts'
import { html, sendPage } from './consent-page.ts'
import { sendTestOutcome } from './issuer-test-page.ts'

/** Adds `GET /auth/oidc/start?issuer=&next=&link=&invite=&test=&fresh=` and `GET /auth/oidc/callback?code=&state=&iss=`, and one callback for each issuer. */
export function singleSignOnRoutes(
  app: FastifyInstance,
  services: Services,
  { publicUrl, basePath }: { publicUrl: string | null; basePath: string },
): void {
  const { singleSignOn } = services

  app.get(
    '/auth/oidc/start',
    { exposeHeadRoute: false, config: { operations: { GET: startSignIn } } },
    async (request, reply) => {
      const query = new URLSearchParams(splitUrl(request.raw.url ?? '')[1])
      const [issuer, next, link] = [query.get('issuer'), query.get('next'), query.get('link')]
      try {
        const isFresh = query.get('fresh') === 'true'
        const session = cookieOf(request, sessionCookie)
        const more = { invite: query.get('invite'), test: query.get('test'), session, isFresh }
        const given = { baseUrl: baseUrlOf(request, publicUrl), issuer, next, link, ...more }
        const { url, pending } = await singleSignOn.begin(given, originOf(request))
        keepPending(request, reply, pending)
        return reply.header('Cache-Control', 'no-store').redirect(url, 303)
      } catch (error) {
        const purpose = query.has('test') ? 'TEST' : link === null ? 'SIGN_IN' : 'LINK'
        return sendSignInFailure(error, request, reply, basePath, purpose)
      }
    },
  )

  const complete = async (path: string, request: FastifyRequest, reply: FastifyReply) => {
    const kept = cookieOf(request, cookieName(request))
    forgetPending(request, reply)
    reply.headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
    try {
      const query = splitUrl(request.raw.url ?? '')[1]
      const completed = await singleSignOn.complete({ path, query, kept }, originOf(request), requestSignal(request))
      if (completed.kind === 'TEST') return sendTestOutcome(reply, completed.outcome)
      if (completed.kind === 'LINK') {
        const page = completed.isInvited ? '/link-account' : '/settings/profile'
        return reply.redirect(`${basePath}${page}#link=${completed.ticket}`, 303)
      }
      const { token, expiresAt } = completed.session
      setSessionCookie(request, reply, { token, expiresAt, path: `${basePath}/` })
      return reply.redirect(`${basePath}${completed.next}`, 303)
    } catch (error) {
      if (error instanceof ClientGone) throw error
      return sendSignInFailure(error, request, reply, basePath, singleSignOn.kindOf(kept) ?? 'SIGN_IN')
    }
  }
  app.get(
    '/auth/oidc/callback',
    { exposeHeadRoute: false, config: { operations: { GET: completeSignIn } } },
    (request, reply) => complete(callbackPath, request, reply),
  )
  app.get<{ Params: { issuer: string } }>(
    '/auth/oidc/callback/:issuer',
    { exposeHeadRoute: false, config: { operations: { GET: completeAddedSignIn } } },
    (request, reply) => complete(`${callbackPath}/${request.params.issuer}`, request, reply),
  )
}

/** The lifetime of the cookie in seconds: a little longer than a sign-in can take. */
const maxAge = 15 * 60

function keepPending(request: FastifyRequest, reply: FastifyReply, pending: string): void {
  reply.setCookie(cookieName(request), pending, { ...attributes(request), maxAge })
}

function forgetPending(request: FastifyRequest, reply: FastifyReply): void {
  reply.clearCookie(cookieName(request), attributes(request))
}

/** Lax, because the issuer's redirect comes from another site. */
function attributes({ protocol }: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: protocol === 'https' } as const
}

/** With TLS, the `__Host-` prefix prevents other hosts of the domain from setting it (RFC 6265bis, section 4.1.3.2). */
function cookieName({ protocol }: FastifyRequest): string {
  return protocol === 'https' ? '__Host-stowage_sign_in' : 'stowage_sign_in'
}

const failureTitles = {
  SIGN_IN: 'You are not signed in',
  LINK: 'The account is not linked',
  TEST: 'The test sign-in failed',
  SIGN_OUT: 'You may still be signed in at the issuer',
} as const

export function sendSignInFailure(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  basePath: string,
  purpose: keyof typeof failureTitles,
): FastifyReply {
  const error = toAppError(thrown)
  logError(error, request)
  const way =
    purpose === 'TEST'
      ? html`<p>You can close this page.</p>`
      : purpose === 'LINK'
        ? html`<p><a href="${`${basePath}/`}" class="button">Back to Stowage</a></p>`
        : html`<p><a href="${`${basePath}/sign-in`}" class="button">Back to the sign-in page</a></p>`
  return sendPage(reply.status(error.status), failureTitles[purpose], [
    html`<p>${error.message}</p>`,
    way,
    html`<p class="help">Request ${request.id}</p>`,
  ])
}

const startSignIn: Operation = {
  id: 'startSingleSignOn',
  tag: 'Single sign-on',
  summary: 'Sends the browser to the OpenID Connect issuer.',
  security: [],
  query: {
    issuer: { description: 'The ID of the issuer. The default is the first.', schema: text },
    next: { description: 'The page of the console to open afterwards.', schema: text },
    invite: { description: 'An invite, with which a person without an account gets one.', schema: text },
    fresh: {
      description: '`true` lets the issuer ask who the person is, although they are signed in there.',
      schema: text,
    },
    test: { description: 'The token of `testIssuer`, to try an issuer instead of signing in.', schema: text },
    link: {
      description: 'The token of `identityLinkUrl` or `invitedLinkUrl`, to link an identity instead of signing in.',
      schema: text,
    },
  },
  responses: {
    303: {
      description: 'The page of the issuer.',
      headers: {
        Location: { description: 'Its address.', schema: text },
        'Set-Cookie': { description: 'Identifies the browser until the sign-in ends.', schema: text },
      },
    },
  },
  reasons: ['NOT_FOUND', 'INVALID_STATE', 'UNAVAILABLE'],
  sendsPages: true,
}

const completeSignIn: Operation = {
  id: 'completeSingleSignOn',
  tag: 'Single sign-on',
  summary: 'Receives the browser from the issuer and signs the person in.',
  description: 'Each `state` works once, for ten minutes, and only with the cookie that the first address set.',
  security: [],
  query: {
    state: { description: 'The state of the sign-in.', required: true, schema: text },
    code: { description: 'The authorization code.', schema: text },
    iss: { description: 'The issuer (RFC 9207).', schema: text },
    error: { description: 'The error of a sign-in that the issuer refused.', schema: text },
    error_description: { description: 'The explanation of the issuer.', schema: text },
  },
  responses: {
    303: {
      description: 'The page of the console, signed in.',
      headers: {
        Location: { description: 'Its address.', schema: text },
        'Set-Cookie': { description: 'The session of the console.', schema: text },
      },
    },
  },
  errorHeaders: { 'Set-Cookie': { description: 'Ends the sign-in.', schema: text } },
  reasons: [
    'NOT_FOUND',
    'INVALID_STATE',
    'SIGN_IN_REFUSED',
    'NOT_LINKED',
    'INVALID_INVITE',
    'RATE_LIMITED',
    'UNAVAILABLE',
  ],
  sendsPages: true,
}

const completeAddedSignIn: Operation = {
  ...completeSignIn,
  id: 'completeAddedSingleSignOn',
  summary: 'Receives the browser from an issuer that owners have added.',
  path: { issuer: { description: 'The name of the issuer in its redirect URI.', schema: text } },
}

/** The addresses of logouts: issuers end sessions here, and people sign out at their issuer. */
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { type Operation, text } from '../../http/openapi/operation.ts'
import { baseUrlOf, splitUrl } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import { sendSignInFailure } from './single-sign-on.ts'

/** Bytes of a form with a logout token. */
const maxLogoutBody = 64 * 1024

const formType = 'application/x-www-form-urlencoded'

/** The page for the frame of an issuer is empty, so that any page may show it. */
const framePolicy = "default-src 'none'; frame-ancestors *"

/** Adds `POST /auth/oidc/backchannel-logout`, `GET /auth/oidc/frontchannel-logout?iss=&sid=` and `GET /auth/oidc/logout?ticket=`. */
export function issuerLogoutRoutes(
  app: FastifyInstance,
  { issuerLogout }: Services,
  { publicUrl, basePath }: { publicUrl: string | null; basePath: string },
): void {
  // The token in the form is a credential of its own.
  const body = { kind: 'parsed', maxBytes: maxLogoutBody, type: formType, authorize: () => true } as const
  const config = { operations: { POST: endSessions }, body } as const
  app.post<{ Body: Buffer | undefined }>('/auth/oidc/backchannel-logout', { config }, async (request, reply) => {
    const token = new URLSearchParams(request.body?.toString()).get('logout_token')
    if (!token) throw new AppError('INVALID_INPUT', 'The form must have the field "logout_token".')
    await issuerLogout.byToken(token, originOf(request))
    return reply.header('Cache-Control', 'no-store').status(200).send()
  })

  // A browser sends no cookie of ours from the frame of another site, so the parameters alone name the session.
  app.get(
    '/auth/oidc/frontchannel-logout',
    { exposeHeadRoute: false, config: { operations: { GET: endFramedSessions } } },
    async (request, reply) => {
      const query = new URLSearchParams(splitUrl(request.raw.url ?? '')[1])
      await issuerLogout.bySession(query.get('iss'), query.get('sid'), originOf(request))
      reply.headers({ 'Cache-Control': 'no-store', 'Content-Security-Policy': framePolicy })
      return reply.type('text/html; charset=utf-8').send('')
    },
  )

  app.get(
    '/auth/oidc/logout',
    { exposeHeadRoute: false, config: { operations: { GET: leaveIssuer } } },
    async (request, reply) => {
      const ticket = new URLSearchParams(splitUrl(request.raw.url ?? '')[1]).get('ticket')
      reply.headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
      try {
        const url = await issuerLogout.leave(ticket, `${baseUrlOf(request, publicUrl)}/sign-in`)
        return reply.redirect(url, 303)
      } catch (error) {
        return sendSignInFailure(error, request, reply, basePath, 'SIGN_OUT')
      }
    },
  )
}

const endSessions: Operation = {
  id: 'endIssuedSessions',
  tag: 'Single sign-on',
  summary: 'Ends sessions when people sign out at the issuer.',
  description: 'The issuer calls it: OpenID Connect Back-Channel Logout 1.0. Each token works once.',
  security: [],
  body: {
    description: 'The logout token.',
    required: true,
    content: {
      [formType]: {
        type: 'object',
        required: ['logout_token'],
        properties: { logout_token: { ...text, description: 'The token, signed by the issuer.' } },
      },
    },
  },
  responses: { 200: { description: 'The sessions have ended.' } },
  reasons: ['NOT_FOUND', 'UNAVAILABLE'],
}

const endFramedSessions: Operation = {
  id: 'endFramedIssuedSessions',
  tag: 'Single sign-on',
  summary: 'Ends the sessions that began with a session at the issuer.',
  description: 'The page of the issuer has it in a frame: OpenID Connect Front-Channel Logout 1.0.',
  security: [],
  query: {
    iss: { description: 'The address of the issuer.', required: true, schema: text },
    sid: { description: 'The session at the issuer.', required: true, schema: text },
  },
  responses: { 200: { description: 'An empty page: no such session is left.' } },
  reasons: ['NOT_FOUND', 'RATE_LIMITED', 'UNAVAILABLE'],
  sendsPages: true,
}

const leaveIssuer: Operation = {
  id: 'leaveSingleSignOn',
  tag: 'Single sign-on',
  summary: 'Sends the browser to the page of the issuer at which a person signs out.',
  description: 'OpenID Connect RP-Initiated Logout 1.0.',
  security: [],
  query: { ticket: { description: 'As `issuerLogout` returns it in its address.', required: true, schema: text } },
  responses: {
    303: {
      description: 'The page of the issuer.',
      headers: { Location: { description: 'Its address.', schema: text } },
    },
  },
  reasons: ['NOT_FOUND', 'INVALID_STATE', 'UNAVAILABLE'],
  sendsPages: true,
}

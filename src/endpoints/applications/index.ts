/**
 * The endpoints of OAuth 2.1, with which applications connect: metadata, registration, tokens and revocation. The page on which a person
 * consents, `/oauth/authorize`, is one of the console.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { type ErrorResponse, formatErrorsBelow } from '../../http/errors.ts'
import { parseJsonBody } from '../../http/json.ts'
import { baseUrlOf } from '../../http/url.ts'
import { describeError, OAuthError, parseParameters } from '../../services/applications/oauth-error.ts'
import type { Services } from '../../services/index.ts'
import type { Settings } from '../../settings/index.ts'
import { metadataRoutes } from './metadata.ts'

/** Bytes of a body. */
const maxBody = 16 * 1024
const formType = 'application/x-www-form-urlencoded'

export function registerApplications(
  app: FastifyInstance,
  { applications }: Services,
  settings: Pick<Settings, 'publicUrl' | 'basePath'>,
): void {
  const { tokens } = applications
  const baseUrl = (request: FastifyRequest) => baseUrlOf(request, settings.publicUrl)
  const route = (type: string) => ({ ignoresCookie: true, body: { ...body, type } }) as const
  for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke']) formatErrorsBelow(app, path, formatError)
  metadataRoutes(app, settings)

  app.post<{ Body: Buffer | undefined }>('/oauth/token', { config: route(formType) }, async request => {
    const issued = await tokens.issue(formOf(request.body), baseUrl(request), originOf(request))
    return {
      access_token: issued.accessToken,
      token_type: 'Bearer',
      expires_in: issued.expiresIn,
      refresh_token: issued.refreshToken,
      scope: issued.scopes.join(' '),
    }
  })

  app.post<{ Body: Buffer | undefined }>('/oauth/revoke', { config: route(formType) }, async (request, reply) => {
    await tokens.revoke(formOf(request.body), originOf(request))
    return reply.status(200).send()
  })

  app.post<{ Body: Buffer | undefined }>(
    '/oauth/register',
    { config: route('application/json') },
    async (request, reply) => {
      const metadata = await parseJsonBody(request.body ?? Buffer.alloc(0))
      const { id, name, redirectUris, createdAt } = await applications.register(metadata, originOf(request))
      return reply.status(201).send({
        client_id: id,
        client_id_issued_at: Math.floor(createdAt.getTime() / 1000),
        client_name: name,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      })
    },
  )
}

/** An application proves with its code or token that it may ask, and anybody can register one. */
const body = { kind: 'parsed', maxBytes: maxBody, authorize: () => true } as const

/** @throws OAuthError */
function formOf(body: Buffer | undefined): ReadonlyMap<string, string> {
  return parseParameters(body?.toString() ?? '')
}

/** RFC 6749, section 5.2. The reason is that of the other endpoints. */
function formatError(error: AppError): ErrorResponse {
  return {
    status: error.status,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      ...(error.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    },
    body: JSON.stringify({ error: codeOf(error), error_description: describeError(error), reason: error.reason }),
  }
}

function codeOf(error: AppError): string {
  if (error instanceof OAuthError) return error.error
  if (error.status === 401) return 'invalid_client'
  if (error.status === 429 || error.status === 503) return 'temporarily_unavailable'
  return error.status >= 500 ? 'server_error' : 'invalid_request'
}

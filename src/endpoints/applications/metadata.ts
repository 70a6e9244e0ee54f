/** How applications find the endpoints: RFC 9728 for what is protected, RFC 8414 for the authorization server. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { nothingHere } from '../../http/error-handler.ts'
import { baseUrlOf } from '../../http/url.ts'
import { applicationScopes } from '../../services/applications/authorization-requests.ts'
import type { Settings } from '../../settings/index.ts'

const resourcePath = '/.well-known/oauth-protected-resource'
const serverPath = '/.well-known/oauth-authorization-server'

/**
 * Adds the addresses of the metadata. The path of the issuer or the resource follows the well-known part (RFC 8414, section 3.1), and
 * a proxy that serves everything below a base path passes the addresses below it.
 */
export function metadataRoutes(
  app: FastifyInstance,
  { publicUrl, basePath }: Pick<Settings, 'publicUrl' | 'basePath'>,
): void {
  const baseUrl = (request: FastifyRequest) => baseUrlOf(request, publicUrl)
  const config = { ignoresCookie: true } as const

  function serve(path: string, documentOf: (suffix: string, baseUrl: string) => object | null): void {
    const respond = (request: FastifyRequest<{ Params: { '*'?: string } }>) => {
      const suffix = withoutBase(request.params['*'] ?? '', basePath)
      const document = documentOf(suffix, baseUrl(request))
      if (!document) throw nothingHere()
      return document
    }
    for (const each of [path, `${path}/*`]) {
      app.get<{ Params: { '*'?: string } }>(each, { config }, async (request, reply) => reply.send(respond(request)))
    }
  }

  serve(serverPath, (suffix, issuer) => (suffix === '' ? describeServer(issuer) : null))
  serve(resourcePath, (suffix, issuer) => {
    if (suffix !== '' && suffix !== 'mcp') return null
    return {
      resource: suffix === '' ? issuer : `${issuer}/mcp`,
      authorization_servers: [issuer],
      scopes_supported: applicationScopes,
      bearer_methods_supported: ['header'],
      resource_name: 'Stowage',
    }
  })
}

/** @param suffix "stowage/mcp" @param basePath "/stowage"; empty for the root */
function withoutBase(suffix: string, basePath: string): string {
  const path = `/${suffix}`.replace(/\/$/, '')
  const own = basePath !== '' && `${path}/`.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
  return own.slice(1)
}

function describeServer(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: applicationScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  }
}

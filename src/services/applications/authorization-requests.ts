/** Parses the request of an application in the address that it opens in a browser: RFC 6749, section 4.1.1, as OAuth 2.1 changes it. */
import type { Audience } from '../../auth/access-tokens.ts'
import { includedScopes, type Scope, scopes } from '../../auth/scopes.ts'
import { OAuthError, type OAuthErrorCode, parseParameters, required } from './oauth-error.ts'

/** The scopes that an application can get. */
export const applicationScopes = ['read', 'write'] as const satisfies readonly Scope[]

/** A request whose application and redirect address are not verified yet. */
export interface OpenedRequest {
  clientId: string
  redirectUri: string
  parameters: ReadonlyMap<string, string>
}

/** The request of a verified application. */
export interface RequestedAccess {
  codeChallenge: string
  audience: Audience
  /** The scopes from which the person can choose, from the lowest. */
  scopes: Scope[]
}

/** Characters of a query. */
const maxQuery = 8000
/** SHA-256 in base64url: RFC 7636, section 4.2. */
const challengePattern = /^[\w-]{43}$/

/** @throws OAuthError */
export function openRequest(query: string): OpenedRequest {
  if (query.length > maxQuery) throw new OAuthError('invalid_request', 'The address is too long.')
  const parameters = parseParameters(query)
  return {
    clientId: required(parameters, 'client_id'),
    // OAuth 2.1 permits to omit the only registered one. Without it, the address would depend on when the registration is read.
    redirectUri: required(parameters, 'redirect_uri'),
    parameters,
  }
}

/** @throws OAuthError, which the application gets */
export function parseRequest(parameters: ReadonlyMap<string, string>, baseUrl: string): RequestedAccess {
  if (parameters.get('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'The "response_type" must be "code".')
  if (parameters.has('request') || parameters.has('request_uri'))
    throw new OAuthError('invalid_request', 'Requests in a JWT are not supported.')
  if ((parameters.get('response_mode') ?? 'query') !== 'query')
    throw new OAuthError('invalid_request', 'The "response_mode" must be "query".')
  const codeChallenge = parameters.get('code_challenge') ?? ''
  if (parameters.get('code_challenge_method') !== 'S256' || !challengePattern.test(codeChallenge))
    throw new OAuthError('invalid_request', 'PKCE is required, with the "code_challenge_method" S256.')
  return {
    codeChallenge,
    audience: audienceOf(parameters.get('resource') ?? null, baseUrl) ?? 'SERVER',
    scopes: parseScopes(parameters.get('scope') ?? null),
  }
}

/**
 * Returns the part of the server that a resource indicator names (RFC 8707, section 2); null without one.
 * @throws OAuthError
 */
export function audienceOf(resource: string | null, baseUrl: string): Audience | null {
  if (resource === null) return null
  const [given, server] = [addressOf(resource), addressOf(baseUrl)]
  if (given !== null && given === server) return 'SERVER'
  if (given !== null && given === `${server}/mcp`) return 'MCP'
  throw new OAuthError('invalid_target', `The resource must be ${baseUrl} or ${baseUrl}/mcp.`)
}

function addressOf(text: string): string | null {
  const url = text.length <= 2000 && URL.canParse(text) ? new URL(text) : null
  return url && url.search === '' && !text.includes('#') ? url.href.replace(/\/$/, '') : null
}

/** Returns what a person can choose from. Without a scope in the request that is everything. @throws OAuthError */
function parseScopes(text: string | null): Scope[] {
  if (text === null) return [...applicationScopes]
  const asked = text.split(' ')
  const highest = applicationScopes.findLast(scope => asked.includes(scope))
  if (!highest) throw new OAuthError('invalid_scope', `The scopes are ${applicationScopes.join(' and ')}.`)
  return includedScopes(highest)
}

/** Requires that a later request asks for no scope that the person has not given. @throws OAuthError */
export function requireGiven(asked: string | undefined, given: readonly Scope[]): void {
  const isGiven = (name: string) => given.includes(name as Scope) || !scopes.includes(name as Scope)
  if (asked === undefined || asked.split(' ').every(isGiven)) return
  throw new OAuthError('invalid_scope', 'The person has not given this scope: ask for their consent again.')
}

/** Returns the address that takes the response to the application: RFC 6749, section 4.1.2, and RFC 9207. */
export function returnAddress(
  redirectUri: string,
  parameters: ReadonlyMap<string, string>,
  issuer: string,
  response: { code: string } | { error: OAuthErrorCode | 'access_denied'; error_description: string },
): string {
  const state = parameters.get('state')
  const query = new URLSearchParams({ ...response, ...(state !== undefined && { state }), iss: issuer })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
}

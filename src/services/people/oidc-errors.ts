/** The failures of an issuer: an error for the person who signs in, and an explanation for the administrator who tests it. */
import { AppError } from '../../errors.ts'
import { isClosedAddress } from '../../storage/network/index.ts'
import { cut } from '../audit/event.ts'

/** The codes of openid-client for failures of the network, and of an issuer that does not speak the protocol. */
const unavailableCodes = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'])

export function toSignInError(issuer: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isRefusal = error instanceof Error && 'error' in error
  // `fetch` throws a TypeError without a code if it cannot connect.
  const isNetwork = unavailableCodes.has(code) || (code === '' && !isRefusal)
  if (isNetwork) return unavailable(issuer, error)
  return new AppError('SIGN_IN_REFUSED', lacksTime(error) ? noTime : undefined, { cause: error })
}

const noTime =
  'The issuer does not say when it asked who you are (the claim "auth_time"): an administrator has to let it name this time.'

/** Returns whether a sign-in fails only because the issuer does not say when the person proved who they are. */
function lacksTime(error: unknown): boolean {
  const { message } = error instanceof Error && error.cause instanceof Error ? error.cause : { message: '' }
  return [error instanceof Error ? error.message : '', message].some(text => text.includes('"auth_time"'))
}

export function unavailable(issuer: string, cause: unknown): AppError {
  return new AppError(
    'UNAVAILABLE',
    `${new URL(issuer).host} does not respond as an OpenID Connect issuer: try again later.`,
    {
      cause,
    },
  )
}

const wrongClient = 'The issuer rejects the client ID or the client secret.'

/** Errors of OAuth (RFC 6749, sections 4.1.2.1 and 5.2) in plain words. */
const refusals: Readonly<Record<string, string>> = {
  invalid_client: wrongClient,
  unauthorized_client: 'The issuer does not let this client use the authorization code flow.',
  invalid_grant: 'The issuer rejects its own code: the redirect URI may differ from the one that is registered there.',
  invalid_scope: 'The issuer does not let this client use the scopes "openid email profile".',
  access_denied: 'The issuer did not let this person use the client, or the person refused.',
  unsupported_response_type: 'The issuer does not support the authorization code flow.',
}

const isLate = 'The issuer does not respond in time.'

/** Failures of the library and of the network in plain words. */
const failures: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name of the issuer does not resolve to an address.',
  EAI_AGAIN: 'The name of the issuer does not resolve to an address.',
  ECONNREFUSED: 'Nothing listens at the address of the issuer.',
  ECONNRESET: 'The issuer closed the connection.',
  OAUTH_TIMEOUT: isLate,
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'The issuer answers with an error: its address may be wrong.',
  OAUTH_RESPONSE_IS_NOT_JSON: 'The issuer answers with something other than JSON: its address may be wrong.',
  OAUTH_PARSE_ERROR: 'The issuer answers with something other than JSON: its address may be wrong.',
  // With a challenge for the client (RFC 6749, section 5.2).
  OAUTH_WWW_AUTHENTICATE_CHALLENGE: wrongClient,
  OAUTH_HTTP_REQUEST_FORBIDDEN: 'The metadata of the issuer have an address without TLS.',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'The metadata name another issuer.',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'The ID token is for another client, from another issuer, or of another sign-in.',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'The ID token is not valid at this time: the clocks may differ.',
  OAUTH_KEY_SELECTION_FAILED: 'No key of the issuer fits the signature of the ID token.',
  OAUTH_UNSUPPORTED_OPERATION: 'The ID token is signed in a way that is not supported.',
  OAUTH_MISSING_SERVER_METADATA: 'The metadata of the issuer lack an address that is needed.',
  OAUTH_INVALID_RESPONSE: 'The response of the issuer does not follow OpenID Connect, or is that of another issuer.',
}

/** The maximum number of nested causes to look at. */
const maxDepth = 8

/** Explains an error to the administrator who tests an issuer. */
export function explain(error: unknown): string {
  if (isClosedAddress(error)) return 'The network rules of this server close the address of the issuer.'
  for (let at = error, depth = 0; at instanceof Error && depth < maxDepth; at = at.cause, depth++) {
    const { error: refusal, error_description: description } = at as { error?: unknown; error_description?: unknown }
    if (typeof refusal === 'string') {
      const said = typeof description === 'string' ? ` It says: "${cut(description)}"` : ''
      return `${(Object.hasOwn(refusals, refusal) ? refusals[refusal] : null) ?? `The issuer refuses with "${cut(refusal)}".`}${said}`
    }
    if (at.name === 'TimeoutError') return isLate
    if (lacksTime(at)) return noTime
    const code = 'code' in at ? String(at.code) : ''
    const failure = Object.hasOwn(failures, code) ? failures[code] : undefined
    if (failure !== undefined) return failure
    if (code.includes('CERT') || code.includes('SIGNED')) return 'The certificate of the issuer is not trusted.'
  }
  return error instanceof AppError ? error.message : 'The issuer does not respond as an OpenID Connect issuer.'
}

/** The metadata with which an application describes itself: RFC 7591, section 2. */
import { parseName } from '../input.ts'
import { OAuthError } from './oauth-error.ts'
import { maxRedirectUris, parseRedirectUri } from './redirect-uris.ts'

export interface ClientMetadata {
  name: string
  redirectUris: readonly string[]
}

/**
 * Members that change nothing here are ignored, as section 2 requires.
 * @param what names the metadata for people
 * @throws OAuthError
 */
export function parseClientMetadata(value: unknown, what: string): ClientMetadata {
  const given: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {}
  const redirectUris = textsOf(given.redirect_uris)
  if (!redirectUris || redirectUris.length === 0 || redirectUris.length > maxRedirectUris) {
    throw new OAuthError('invalid_redirect_uri', `${what} has 1 to ${maxRedirectUris} addresses in "redirect_uris".`)
  }
  for (const uri of redirectUris) parseRedirectUri(uri)
  const { client_name: name, token_endpoint_auth_method: method = 'none' } = given
  if (method !== 'none') {
    throw new OAuthError(
      'invalid_client_metadata',
      'Applications have no secrets here: "token_endpoint_auth_method" must be "none".',
    )
  }
  const hasGrant = given.grant_types === undefined || textsOf(given.grant_types)?.includes('authorization_code')
  const hasResponse = given.response_types === undefined || textsOf(given.response_types)?.includes('code')
  if (!hasGrant || !hasResponse) {
    throw new OAuthError('invalid_client_metadata', 'The application must use the grant "authorization_code".')
  }
  return { name: nameOf(name), redirectUris }
}

/** Returns null for anything but a list of texts. */
function textsOf(value: unknown): string[] | null {
  return Array.isArray(value) && value.every(each => typeof each === 'string') ? value : null
}

function nameOf(value: unknown): string {
  if (value === undefined || value === '') return 'Unnamed application'
  try {
    return parseName(typeof value === 'string' ? value : '', 'A name')
  } catch (cause) {
    const message = '"client_name" has 1 to 200 characters and no control characters.'
    throw new OAuthError('invalid_client_metadata', message, { cause })
  }
}

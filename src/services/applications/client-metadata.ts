/** The metadata with which an application describes itself: RFC 7591, section 2. */
import { z } from 'zod'
import { parseName } from '../input.ts'
import { OAuthError } from './oauth-error.ts'
import { maxRedirectUris, parseRedirectUri } from './redirect-uris.ts'

export interface ClientMetadata {
  name: string
  redirectUris: readonly string[]
}

/** Members that change nothing here are ignored, as section 2 requires. */
const schema = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()).min(1).max(maxRedirectUris),
  token_endpoint_auth_method: z.string().default('none'),
  grant_types: z.array(z.string()).default(['authorization_code']),
  response_types: z.array(z.string()).default(['code']),
})

/**
 * @param what names the metadata for people
 * @throws OAuthError
 */
export function parseClientMetadata(value: unknown, what: string): ClientMetadata {
  const { success, data, error } = schema.safeParse(value)
  if (!success) {
    const path = error.issues[0]?.path.join('.') || 'value'
    const code = path.startsWith('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata'
    throw new OAuthError(code, `${what} is not valid: the member "${path}" is missing or wrong.`)
  }
  for (const uri of data.redirect_uris) parseRedirectUri(uri)
  if (data.token_endpoint_auth_method !== 'none') {
    throw new OAuthError(
      'invalid_client_metadata',
      'Applications have no secrets here: "token_endpoint_auth_method" must be "none".',
    )
  }
  if (!data.grant_types.includes('authorization_code') || !data.response_types.includes('code')) {
    throw new OAuthError('invalid_client_metadata', 'The application must use the grant "authorization_code".')
  }
  return { name: nameOf(data.client_name), redirectUris: data.redirect_uris }
}

function nameOf(text: string | undefined): string {
  if (text === undefined || text.trim() === '') return 'An application without a name'
  try {
    return parseName(text, 'A name')
  } catch (cause) {
    throw new OAuthError(
      'invalid_client_metadata',
      '"client_name" has 1 to 200 characters and no control characters.',
      {
        cause,
      },
    )
  }
}

import type { Backoff } from '../../bases/retry.ts'
import type { Network, OAuthFlow, Tokens } from '../../contract.ts'
import { type DropboxConfig, type Endpoints, scopes } from './config.ts'

/**
 * Authorization code with the app's secret, or with PKCE for an app without one
 * (www.dropbox.com/developers/reference/oauth-guide). Dropbox takes either, not both.
 */
export function oauthFlow(endpoints: Endpoints, backoff: Backoff): OAuthFlow<DropboxConfig> {
  async function request(form: Record<string, string | undefined>, network: Network): Promise<Tokens> {
    const [{ requestTokens }, { dropbox }] = await Promise.all([
      import('../../bases/cloud/client.ts'),
      import('./errors.ts'),
    ])
    return await requestTokens(form, { vendor: dropbox, network, backoff, url: endpoints.token })
  }

  return {
    authorizeUrl({ clientId, clientSecret }, { redirectUri, state, codeChallenge }) {
      const url = new URL(endpoints.authorize)
      const query = {
        client_id: clientId,
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: scopes.join(' '),
        state,
        // Otherwise Dropbox returns no refresh token.
        token_access_type: 'offline',
        ...(clientSecret === undefined && { code_challenge: codeChallenge, code_challenge_method: 'S256' }),
      }
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url
    },

    exchange: ({ clientId, clientSecret }, { redirectUri, code, codeVerifier }, network) =>
      request(
        {
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          client_id: clientId,
          client_secret: clientSecret,
          code_verifier: clientSecret === undefined ? codeVerifier : undefined,
        },
        network,
      ),

    refresh: ({ clientId, clientSecret }, refreshToken, network) =>
      request(
        {
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
          client_id: clientId,
          client_secret: clientSecret,
        },
        network,
      ),
  }
}

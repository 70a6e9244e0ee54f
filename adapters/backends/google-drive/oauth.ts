import type { OAuthFlow } from '../../contract.ts'
import { type Endpoints, type GoogleDriveConfig, requireClient, scope } from './config.ts'

/** Authorization code with PKCE (developers.google.com/identity/protocols/oauth2/web-server). */
export function oauthFlow(endpoints: Endpoints): OAuthFlow<GoogleDriveConfig> {
  return {
    isNeeded: ({ serviceAccountKey }) => serviceAccountKey === undefined,

    authorizeUrl(config, { redirectUri, state, codeChallenge }) {
      const url = new URL(endpoints.authorize)
      const query = {
        client_id: requireClient(config).clientId,
        response_type: 'code',
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
        access_type: 'offline',
        // Otherwise Google returns a refresh token only for a person's first consent.
        prompt: 'consent',
      }
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url
    },

    async exchange(config, code, network) {
      const { exchangeCode } = await import('./credentials.ts')
      return await exchangeCode(config, { endpoints, network }, code)
    },

    async refresh(config, refreshToken, network) {
      const { refreshTokens } = await import('./credentials.ts')
      return await refreshTokens(config, { endpoints, network }, refreshToken)
    },
  }
}

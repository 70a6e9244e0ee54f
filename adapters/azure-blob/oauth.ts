import type { OAuthFlow } from '../contract.ts'
import { type AzureBlobConfig, requireClient } from './config.ts'

/** `user_impersonation` gives the rights of the person, and `offline_access` a token to refresh. */
const scope = 'https://storage.azure.com/user_impersonation offline_access'

/** Authorization code with PKCE: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow */
export function oauthFlow(authorityFor: (config: AzureBlobConfig) => string): OAuthFlow<AzureBlobConfig> {
  return {
    isNeeded: ({ access }) => access === 'person',

    authorizeUrl(config, { redirectUri, state, codeChallenge }) {
      const { tenantId, clientId } = requireClient(config)
      const url = new URL(`${authorityFor(config)}${tenantId}/oauth2/v2.0/authorize`)
      const query = {
        client_id: clientId,
        response_type: 'code',
        redirect_uri: redirectUri,
        response_mode: 'query',
        scope,
        state,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
        prompt: 'select_account',
      }
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url
    },

    async exchange(config, { redirectUri, code, codeVerifier }, network) {
      const grant = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
        scope,
      }
      const { requestEntraTokens } = await import('./entra.ts')
      return await requestEntraTokens(requireClient(config), network, { authority: authorityFor(config) }, grant)
    },

    async refresh(config, refreshToken, network) {
      const grant = { grant_type: 'refresh_token', refresh_token: refreshToken, scope }
      const { requestEntraTokens } = await import('./entra.ts')
      return await requestEntraTokens(requireClient(config), network, { authority: authorityFor(config) }, grant)
    },
  }
}

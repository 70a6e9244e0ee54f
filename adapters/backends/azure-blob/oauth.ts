import { entraConsentUrl } from '../../bases/cloud/entra.ts'
import type { OAuthFlow } from '../../contract.ts'
import { type AzureBlobConfig, requireClient } from './config.ts'

/** `user_impersonation` gives the rights of the person, and `offline_access` a token to refresh. */
const scope = 'https://storage.azure.com/user_impersonation offline_access'

/** Authorization code with PKCE: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow */
export function oauthFlow(authorityFor: (config: AzureBlobConfig) => string): OAuthFlow<AzureBlobConfig> {
  return {
    isNeeded: ({ access }) => access === 'person',

    authorizeUrl(config, query) {
      const { tenantId: tenant, clientId } = requireClient(config)
      return entraConsentUrl({ authority: authorityFor(config), tenant, clientId, scope }, query)
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

import { entraConsentUrl } from '../../bases/cloud/entra.ts'
import type { Backoff } from '../../bases/retry.ts'
import type { Network, OAuthFlow, Tokens } from '../../contract.ts'
import { type Endpoints, type OneDriveConfig, scopesOf } from './config.ts'

/** Accepts accounts of every organization, and personal ones. */
const defaultTenant = 'common'

/** Authorization code with PKCE (learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow). */
export function oauthFlow({ login }: Endpoints, backoff: Backoff): OAuthFlow<OneDriveConfig> {
  async function request(
    config: OneDriveConfig,
    form: Record<string, string | undefined>,
    network: Network,
  ): Promise<Tokens> {
    const [{ requestTokens }, { onedrive }] = await Promise.all([
      import('../../bases/cloud/client.ts'),
      import('./errors.ts'),
    ])
    const { clientId, clientSecret, tenant = defaultTenant } = config
    const app = { client_id: clientId, client_secret: clientSecret, scope: scopesOf(config) }
    const url = `${login}${tenant}/oauth2/v2.0/token`
    return await requestTokens({ ...form, ...app }, { vendor: onedrive, network, backoff, url })
  }

  return {
    authorizeUrl: (config, query) => {
      const { clientId, tenant = defaultTenant } = config
      return entraConsentUrl({ authority: login, tenant, clientId, scope: scopesOf(config) }, query)
    },

    exchange: (config, { redirectUri, code, codeVerifier }, network) =>
      request(
        config,
        { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier },
        network,
      ),

    refresh: (config, refreshToken, network) =>
      request(config, { grant_type: 'refresh_token', refresh_token: refreshToken }, network),
  }
}

import type { Backoff } from '../cloud/backoff.ts'
import type { Network, OAuthFlow, Tokens } from '../contract.ts'
import { type Endpoints, type OneDriveConfig, scopesOf } from './config.ts'

/** Authorization code with PKCE (learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow). */
export function oauthFlow({ login }: Endpoints, backoff: Backoff): OAuthFlow<OneDriveConfig> {
  const addressOf = ({ tenant = 'common' }: OneDriveConfig, route: string) => `${login}${tenant}/oauth2/v2.0/${route}`

  async function request(
    config: OneDriveConfig,
    form: Record<string, string | undefined>,
    network: Network,
  ): Promise<Tokens> {
    const [{ requestTokens }, { onedrive }] = await Promise.all([import('../cloud/grants.ts'), import('./errors.ts')])
    const { clientId, clientSecret } = config
    const app = { client_id: clientId, client_secret: clientSecret, scope: scopesOf(config) }
    const url = addressOf(config, 'token')
    return await requestTokens({ ...form, ...app }, { vendor: onedrive, network, backoff, url })
  }

  return {
    authorizeUrl(config, { redirectUri, state, codeChallenge }) {
      const url = new URL(addressOf(config, 'authorize'))
      const query = {
        client_id: config.clientId,
        response_type: 'code',
        response_mode: 'query',
        redirect_uri: redirectUri,
        scope: scopesOf(config),
        state,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
        // Otherwise the browser's current account gives consent without a question.
        prompt: 'select_account',
      }
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url
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

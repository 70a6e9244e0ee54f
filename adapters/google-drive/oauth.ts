import { CodeChallengeMethod, type Credentials, OAuth2Client } from 'google-auth-library'
import { type OAuthFlow, StorageError, type Tokens } from '../contract.ts'
import { type Endpoints, type GoogleDriveConfig, requireClient } from './config.ts'
import { failureOf, toStorageError } from './errors.ts'
import { scope } from './tokens.ts'

/** Milliseconds. */
const timeout = 30_000

/** Authorization code with PKCE (developers.google.com/identity/protocols/oauth2/web-server). */
export function oauthFlow(endpoints: Endpoints): OAuthFlow<GoogleDriveConfig> {
  const clientOf = (config: GoogleDriveConfig) =>
    new OAuth2Client({
      ...requireClient(config),
      endpoints: { oauth2AuthBaseUrl: endpoints.authorize, oauth2TokenUrl: endpoints.token },
      transporterOptions: { timeout },
    })

  return {
    isNeeded: ({ serviceAccountKey }) => serviceAccountKey === undefined,

    authorizeUrl(config, { redirectUri, state, codeChallenge }) {
      const url = clientOf(config).generateAuthUrl({
        access_type: 'offline',
        // Without it Google gives a refresh token only the first time a person consents.
        prompt: 'consent',
        scope,
        redirect_uri: redirectUri,
        state,
        code_challenge: codeChallenge,
        code_challenge_method: CodeChallengeMethod.S256,
      })
      return new URL(url)
    },

    exchange(config, { redirectUri, code, codeVerifier }) {
      return told(async () => {
        const options = { code, codeVerifier, redirect_uri: redirectUri }
        const { tokens } = await clientOf(config).getToken(options)
        if (tokens.scope !== undefined && !tokens.scope.split(' ').includes(scope)) {
          const message = 'Access to Google Drive was not ticked on the consent screen: connect again and tick it.'
          throw new StorageError('NEEDS_RECONNECT', message)
        }
        return toTokens(tokens)
      })
    },

    refresh(config, refreshToken) {
      return told(async () => {
        const client = clientOf(config)
        client.setCredentials({ refresh_token: refreshToken })
        const { credentials } = await client.refreshAccessToken()
        return toTokens(credentials)
      })
    },
  }
}

async function told<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw error instanceof StorageError ? error : toStorageError(failureOf(error))
  }
}

function toTokens({
  access_token: accessToken,
  refresh_token: refreshToken,
  expiry_date: expires,
}: Credentials): Tokens {
  if (!accessToken) throw new StorageError('UNAVAILABLE', 'Google answered no access token: try again.')
  return {
    accessToken,
    ...(refreshToken ? { refreshToken } : {}),
    expiresAt: new Date(expires ?? Date.now() + 3_600_000),
  }
}

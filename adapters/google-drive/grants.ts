import { type Credentials, OAuth2Client } from 'google-auth-library'
import { StorageError, type Tokens } from '../contract.ts'
import { type Endpoints, type GoogleDriveConfig, requireClient, scope } from './config.ts'
import { failureOf, toStorageError } from './errors.ts'

/** Milliseconds. */
const timeout = 30_000

export interface Code {
  redirectUri: string
  code: string
  codeVerifier: string
}

/** @throws NEEDS_RECONNECT, UNAUTHORIZED, UNAVAILABLE */
export function exchangeCode(
  config: GoogleDriveConfig,
  endpoints: Endpoints,
  { redirectUri, code, codeVerifier }: Code,
): Promise<Tokens> {
  return told(async () => {
    const { tokens } = await clientOf(config, endpoints).getToken({ code, codeVerifier, redirect_uri: redirectUri })
    if (tokens.scope !== undefined && !tokens.scope.split(' ').includes(scope)) {
      const message = 'Access to Google Drive was not ticked on the consent screen: connect again and tick it.'
      throw new StorageError('NEEDS_RECONNECT', message)
    }
    return toTokens(tokens)
  })
}

/** @throws as `exchangeCode` */
export function refreshTokens(config: GoogleDriveConfig, endpoints: Endpoints, refreshToken: string): Promise<Tokens> {
  return told(async () => {
    const client = clientOf(config, endpoints)
    client.setCredentials({ refresh_token: refreshToken })
    const { credentials } = await client.refreshAccessToken()
    return toTokens(credentials)
  })
}

function clientOf(config: GoogleDriveConfig, { token }: Endpoints): OAuth2Client {
  const endpoints = { oauth2TokenUrl: token }
  return new OAuth2Client({ ...requireClient(config), endpoints, transporterOptions: { timeout } })
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

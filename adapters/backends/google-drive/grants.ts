import { type Credentials, OAuth2Client } from 'google-auth-library'
import { toStorageError } from '../../bases/cloud/failure.ts'
import { type Network, StorageError, type Tokens } from '../../contract.ts'
import { agentOf } from './agent.ts'
import { type Endpoints, type GoogleDriveConfig, requireClient, scope } from './config.ts'
import { failureOf, google } from './errors.ts'

/** Milliseconds for each request. */
const timeout = 30_000

interface GrantOptions {
  endpoints: Endpoints
  network: Network
}

export interface Code {
  redirectUri: string
  code: string
  codeVerifier: string
}

/** @throws NEEDS_RECONNECT, UNAUTHORIZED, UNAVAILABLE */
export function exchangeCode(
  config: GoogleDriveConfig,
  options: GrantOptions,
  { redirectUri, code, codeVerifier }: Code,
): Promise<Tokens> {
  return withStorageErrors(async () => {
    const { tokens } = await clientOf(config, options).getToken({ code, codeVerifier, redirect_uri: redirectUri })
    if (tokens.scope !== undefined && !tokens.scope.split(' ').includes(scope)) {
      const message = 'Access to Google Drive was not ticked on the consent screen: connect again and tick it.'
      throw new StorageError('NEEDS_RECONNECT', message)
    }
    return toTokens(tokens)
  })
}

/** @throws as `exchangeCode` */
export function refreshTokens(config: GoogleDriveConfig, options: GrantOptions, refreshToken: string): Promise<Tokens> {
  return withStorageErrors(async () => {
    const client = clientOf(config, options)
    client.setCredentials({ refresh_token: refreshToken })
    const { credentials } = await client.refreshAccessToken()
    return toTokens(credentials)
  })
}

function clientOf(config: GoogleDriveConfig, { endpoints, network }: GrantOptions): OAuth2Client {
  const transporterOptions = { timeout, agent: agentOf(network) }
  return new OAuth2Client({
    ...requireClient(config),
    endpoints: { oauth2TokenUrl: endpoints.token },
    transporterOptions,
  })
}

async function withStorageErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw error instanceof StorageError ? error : toStorageError(failureOf(error), google)
  }
}

function toTokens({
  access_token: accessToken,
  refresh_token: refreshToken,
  expiry_date: expires,
}: Credentials): Tokens {
  if (!accessToken) throw new StorageError('UNAVAILABLE', 'Google returned no access token: try again.')
  return {
    accessToken,
    ...(refreshToken ? { refreshToken } : {}),
    expiresAt: new Date(expires ?? Date.now() + 3_600_000),
  }
}

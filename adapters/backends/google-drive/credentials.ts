/** Tokens from Google, with its own client: the consent of a person, or the key of a service account. */
import type { Agent } from 'node:http'
import { type Credentials, type gaxios, JWT, OAuth2Client } from 'google-auth-library'
import { toStorageError } from '../../bases/cloud/errors.ts'
import { fromRequests, type TokenSource } from '../../bases/cloud/tokens.ts'
import { type Network, StorageError, type Tokens } from '../../contract.ts'
import {
  type Endpoints,
  type GoogleDriveConfig,
  googleEndpoints,
  requireClient,
  type ServiceAccount,
  scope,
} from './config.ts'
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

/** Gets tokens with the key of a service account (RFC 7523), which needs no consent. */
export function fromServiceAccount(
  { email, privateKey }: ServiceAccount,
  endpoints: Endpoints,
  network: Network,
  /** Milliseconds. */
  timeout: number,
): TokenSource {
  const transporterOptions = { timeout, agent: agentOf(network) }
  return fromRequests(async () => {
    const jwt = new JWT({ email, key: privateKey, scopes: [scope], transporterOptions })
    if (endpoints.token !== googleEndpoints.token) redirect(jwt.transporter, endpoints.token)
    try {
      const { access_token: accessToken, expiry_date: expires } = await jwt.authorize()
      if (!accessToken) throw new Error('Google returned no access token')
      return { accessToken, expiresAt: new Date(expires ?? 0) }
    } catch (error) {
      throw refusalOf(error)
    }
  })
}

/** Changes the token address, which is built into JWT. */
function redirect(transporter: gaxios.Gaxios, token: string): void {
  transporter.interceptors.request.add({
    resolved: async options => {
      if (options.url.href === googleEndpoints.token) options.url = new URL(token)
      return options
    },
  })
}

function refusalOf(error: unknown): StorageError {
  const failure = failureOf(error)
  if (failure.status !== undefined && failure.status >= 400 && failure.status < 500 && failure.status !== 429) {
    const message =
      'Google refuses the key of the service account: check that the key still exists, and the clock of the server.'
    return new StorageError('UNAUTHORIZED', message, { cause: failure.cause })
  }
  // An unreadable private key fails before anything is sent.
  if (error instanceof Error && 'code' in error && /^ERR_(OSSL|CRYPTO)/.test(String(error.code))) {
    return new StorageError('UNAUTHORIZED', 'The private key of the service account cannot be read.', {
      cause: failure.cause,
    })
  }
  return toStorageError(failure, google)
}

/** Returns the agents for Google's client, which chooses one for each redirect. */
function agentOf(network: Network): (url: URL) => Agent {
  // The options of Node's default agent, which Google's client would use otherwise.
  const options = { keepAlive: true, scheduling: 'lifo' as const, timeout: 5000 }
  const [http, https] = [network.httpAgent(options), network.httpsAgent(options)]
  return url => (url.protocol === 'http:' ? http : https)
}

import { type gaxios, JWT } from 'google-auth-library'
import { toStorageError } from '../../bases/cloud/failure.ts'
import { fromRequests, type TokenSource } from '../../bases/cloud/tokens.ts'
import { type Network, StorageError } from '../../contract.ts'
import { agentOf } from './agent.ts'
import { type Endpoints, googleEndpoints, type ServiceAccount, scope } from './config.ts'
import { failureOf, google } from './errors.ts'

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

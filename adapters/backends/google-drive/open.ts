import { type gaxios, JWT } from 'google-auth-library'
import { hasCode, toStorageError } from '../../bases/cloud/failure.ts'
import { HttpClient } from '../../bases/cloud/http.ts'
import { type Backoff, type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/repeat.ts'
import { fromHost, fromRequests, type TokenSource } from '../../bases/cloud/tokens.ts'
import { type Host, type Network, StorageError } from '../../contract.ts'
import { agentOf } from './agent.ts'
import { type Endpoints, type GoogleDriveConfig, googleEndpoints, type ServiceAccount, scope } from './config.ts'
import { failureOf, google } from './errors.ts'
import { DriveApi, DriveFiles } from './files.ts'
import { GoogleDriveProvider } from './provider.ts'

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
  /** Milliseconds for which a cached folder id is used without looking it up again. */
  trust: number
}

/** @param account undefined to use the OAuth consent that the host stores */
export async function openProvider(
  { driveId, rootFolderId }: GoogleDriveConfig,
  account: ServiceAccount | undefined,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): Promise<GoogleDriveProvider> {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts, trust = 2000 } = options
  const { network } = host
  const token = account ? fromServiceAccount(account, endpoints, network, timeouts.token) : fromHost(host)
  const http = new HttpClient({ vendor: google, network, token, backoff, timeouts })
  const files = new DriveFiles(new DriveApi(http, endpoints.api), { driveId, rootFolderId })
  // Check a service account now. With OAuth there may be no consent yet.
  if (account) await files.root(AbortSignal.timeout(30_000)).catch(refuseRoot)
  return new GoogleDriveProvider(files, host, trust)
}

function refuseRoot(error: unknown): never {
  if (error instanceof StorageError && hasCode(error, 'PERMISSION_DENIED')) {
    throw new StorageError('INVALID_CONFIG', error.message, { cause: error })
  }
  throw error
}

/** Gets tokens with the key of a service account (RFC 7523), which needs no consent. */
function fromServiceAccount(
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

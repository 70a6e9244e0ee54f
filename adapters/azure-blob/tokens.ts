import { type Host, type Network, StorageError, type StorageErrorCode, type Tokens } from '../contract.ts'
import { isNetworkError, whyUnreachable } from '../unreachable.ts'
import type { AzureSettings, EntraClient } from './config.ts'
import { retryAfterOf } from './errors.ts'

/** Returns an access token. Pass one that Azure has refused to get another. */
export type TokenSource = (rejected: string | undefined) => Promise<string>

/** The rights that an application has by itself. */
const applicationScope = 'https://storage.azure.com/.default'
/** Milliseconds for each request. */
const timeout = 30_000
/** A token that expires within this time is no longer used, in milliseconds. */
const expiryBuffer = 60_000

/** @returns undefined for credentials that need no token */
export function tokenSource(settings: AzureSettings, host: Host, authority: string): TokenSource | undefined {
  const { credentials } = settings
  if (credentials.kind === 'person') return rejected => host.accessToken(rejected === undefined ? {} : { rejected })
  return credentials.kind === 'application' ? fromApplication(credentials, host.network, authority) : undefined
}

/** Gets tokens with a secret (RFC 6749, section 4.4). Calls at the same time share one request. */
function fromApplication(client: EntraClient, network: Network, authority: string): TokenSource {
  let current: Tokens | undefined
  let pending: Promise<Tokens> | undefined
  return async rejected => {
    const isUsable =
      current && current.accessToken !== rejected && current.expiresAt.getTime() - expiryBuffer > Date.now()
    if (current && isUsable) return current.accessToken
    const grant = { grant_type: 'client_credentials', scope: applicationScope }
    pending ??= requestTokens(client, network, authority, grant).finally(() => {
      pending = undefined
    })
    current = await pending
    return current.accessToken
  }
}

/** @throws NEEDS_RECONNECT, UNAUTHORIZED, RATE_LIMITED, UNAVAILABLE */
export async function requestTokens(
  { tenantId, clientId, clientSecret }: EntraClient,
  network: Network,
  authority: string,
  grant: Record<string, string>,
): Promise<Tokens> {
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...grant })
  const url = `${authority}${tenantId}/oauth2/v2.0/token`
  const signal = AbortSignal.timeout(timeout)
  const { response, json } = await network
    .fetch(url, { method: 'POST', body, signal, redirect: 'error' })
    .then(async response => ({ response, json: (await response.json().catch(() => ({}))) as Record<string, unknown> }))
    .catch(error => {
      throw unreachableAuthority(error)
    })
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = json
  if (response.ok && typeof accessToken === 'string') {
    const expiresAt = new Date(Date.now() + (Number(seconds) || 3600) * 1000)
    return { accessToken, expiresAt, ...(typeof refreshToken === 'string' && { refreshToken }) }
  }
  throw refusedGrant(response, String(json.error ?? ''), String(json.error_codes ?? ''))
}

const consentEnded = 'The consent for Azure was withdrawn or has expired: connect it again.'
const wrongSecret = 'Microsoft Entra refuses the client secret, or it has expired: make a new one and enter it.'
const wrongClient = 'Microsoft Entra does not know this application in this directory: check both IDs.'

/** Keys are errors of OAuth (RFC 6749, section 5.2) and of OpenID Connect. */
const grantMeanings: Record<string, readonly [StorageErrorCode, string]> = {
  invalid_grant: ['NEEDS_RECONNECT', consentEnded],
  interaction_required: ['NEEDS_RECONNECT', consentEnded],
  login_required: ['NEEDS_RECONNECT', consentEnded],
  consent_required: ['NEEDS_RECONNECT', consentEnded],
  invalid_client: ['UNAUTHORIZED', wrongSecret],
  unauthorized_client: ['UNAUTHORIZED', wrongClient],
  invalid_request: ['UNAUTHORIZED', wrongClient],
  invalid_resource: [
    'UNAUTHORIZED',
    'The application may not use Azure Storage: give it this permission in Microsoft Entra.',
  ],
}

function refusedGrant(response: Response, error: string, codes: string): StorageError {
  const { status } = response
  const cause = Object.assign(new Error(`HTTP ${status} ${error} ${codes}`.trim()), { status })
  const retryAfterMs = retryAfterOf(response.headers.get('retry-after'))
  if (status === 429) {
    const message = 'Microsoft Entra gets too many requests: wait a little, then try again.'
    return new StorageError('RATE_LIMITED', message, { cause, retryAfterMs })
  }
  const [code, message] = (status < 500 ? grantMeanings[error] : undefined) ?? [
    'UNAVAILABLE',
    'Microsoft Entra sent an unexpected response: try again later.',
  ]
  return new StorageError(code, message, { cause, retryAfterMs })
}

function unreachableAuthority(error: Error & { cause?: Error & { code?: string } }): unknown {
  // `fetch` wraps the errors of sockets.
  const socketError = error.cause ?? error
  if (!isNetworkError(socketError) && !isNetworkError(error)) return error
  const message = `Microsoft Entra cannot be reached: ${whyUnreachable(socketError)}. Try again later.`
  return new StorageError('UNAVAILABLE', message, { cause: error })
}

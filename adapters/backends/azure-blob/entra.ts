/** Tokens of Microsoft Entra, for people and applications. */

import type { Vendor } from '../../bases/cloud/client.ts'
import { requestTokens } from '../../bases/cloud/client.ts'
import { property } from '../../bases/cloud/errors.ts'
import { usualBackoff } from '../../bases/cloud/repeat.ts'
import { fromHost, fromRequests, type TokenSource } from '../../bases/cloud/tokens.ts'
import type { Backoff } from '../../bases/retry.ts'
import type { Host, Network, StorageErrorCode, Tokens } from '../../contract.ts'
import type { AzureSettings, EntraClient } from './config.ts'

const consentEnded = 'The consent for Azure was withdrawn or has expired: connect it again.'
const wrongSecret = 'Microsoft Entra refuses the client secret, or it has expired: make a new one and enter it.'
const wrongClient = 'Microsoft Entra does not know this application in this directory: check both IDs.'

/** Keys are errors of OAuth (RFC 6749, section 5.2) and of OpenID Connect. */
const meanings: Record<string, readonly [StorageErrorCode, string]> = {
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

/** The service that signs people and applications in. */
const entra: Vendor = {
  name: 'Microsoft Entra',
  reasonOf: body => property(body, 'error')?.toString(),
  isRateLimit: ({ status }) => status === 429,
  meaningOf: ({ status = 0, reason = '' }) => (status < 500 ? meanings[reason] : undefined),
}

/** @throws NEEDS_RECONNECT, UNAUTHORIZED, RATE_LIMITED, UNAVAILABLE */
export async function requestEntraTokens(
  { tenantId, clientId, clientSecret }: EntraClient,
  network: Network,
  { authority, backoff = usualBackoff }: { authority: string; backoff?: Backoff },
  grant: Record<string, string>,
): Promise<Tokens> {
  const form = { client_id: clientId, client_secret: clientSecret, ...grant }
  return await requestTokens(form, {
    vendor: entra,
    network,
    backoff,
    url: `${authority}${tenantId}/oauth2/v2.0/token`,
  })
}

/** The rights that an application has by itself (RFC 6749, section 4.4). */
const grant = { grant_type: 'client_credentials', scope: 'https://storage.azure.com/.default' }

/**
 * @param options `authority` is the address that signs people and applications in
 * @returns undefined for credentials that need no token
 */
export function tokenSource(
  { credentials }: AzureSettings,
  host: Host,
  options: { authority: string; backoff: Backoff },
): TokenSource | undefined {
  if (credentials.kind === 'person') return fromHost(host)
  if (credentials.kind !== 'application') return undefined
  return fromRequests(() => requestEntraTokens(credentials, host.network, options, grant))
}

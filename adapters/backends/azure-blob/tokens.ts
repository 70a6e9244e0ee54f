import type { Backoff } from '../../bases/cloud/repeat.ts'
import { fromHost, fromRequests, type TokenSource } from '../../bases/cloud/tokens.ts'
import type { Host } from '../../contract.ts'
import type { AzureSettings } from './config.ts'
import { requestEntraTokens } from './entra.ts'

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

import { type Network, StorageError, type Tokens } from '../../contract.ts'
import type { Backoff } from '../retry.ts'
import { HttpClient, type Vendor, withStorageErrors } from './client.ts'
import { property } from './errors.ts'
import { usualTimeouts } from './repeat.ts'

/** Milliseconds for all attempts. */
const timeout = 30_000

interface GrantOptions {
  vendor: Vendor
  network: Network
  backoff: Backoff
  /** The vendor's token endpoint. */
  url: string
}

/**
 * Requests tokens (RFC 6749, sections 4.1.3, 4.4 and 6). A code works once, so it is not repeated after a lost response.
 * @throws NEEDS_RECONNECT, UNAUTHORIZED, RATE_LIMITED, UNAVAILABLE
 */
export async function requestTokens(
  form: Record<string, string | undefined>,
  { vendor, network, backoff, url }: GrantOptions,
): Promise<Tokens> {
  const timeouts = { ...usualTimeouts, upload: usualTimeouts.token }
  const http = new HttpClient({ vendor, network, token: undefined, backoff, timeouts })
  const given = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const signal = AbortSignal.timeout(timeout)
  const repeatable = form.grant_type !== 'authorization_code'
  const { data } = await withStorageErrors(vendor, signal, () =>
    http.request({ method: 'POST', url, body: new URLSearchParams(given), repeatable, signal }),
  )
  const [accessToken, refreshToken] = [property(data, 'access_token'), property(data, 'refresh_token')]
  if (typeof accessToken !== 'string') {
    throw new StorageError('UNAVAILABLE', `${vendor.name} returned no access token: try again.`)
  }
  const lifetime = Number(property(data, 'expires_in') ?? 3600)
  return {
    accessToken,
    ...(typeof refreshToken === 'string' && { refreshToken }),
    expiresAt: new Date(Date.now() + lifetime * 1000),
  }
}

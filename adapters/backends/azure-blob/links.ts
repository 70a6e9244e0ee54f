import type { LinkHeaders } from '../../contract.ts'
import type { Container } from './container.ts'
import { type BlobLink, serviceSas } from './sign.ts'

/** Seconds: a week. */
const maxExpiry = 7 * 24 * 3600

export interface LinkOptions {
  method: 'GET' | 'PUT'
  /** Seconds. */
  expiresIn: number
  responseHeaders?: LinkHeaders | undefined
}

/**
 * Signs a link. Sends no request. Returns null without an account key: whoever has only a signature, or a token, cannot sign a
 * narrower one.
 *
 * A write link can be used for this one blob alone. Its holder can add `x-ms-copy-source`, and Azure then asks for a signature
 * of that source, too. Other servers, such as the emulator, may not, so they get no write links.
 */
export function linkTo(
  container: Container,
  key: string,
  { method, expiresIn, responseHeaders }: LinkOptions,
): { url: URL; headers: Record<string, string> } | null {
  const { credentials, account, container: name, endpoint, isAzure } = container.settings
  if (credentials.kind !== 'key' || (method === 'PUT' && !isAzure)) return null
  const link: BlobLink = {
    container: name,
    key,
    permissions: method === 'GET' ? 'r' : 'cw',
    expiresAt: new Date(container.clock() + Math.min(expiresIn, maxExpiry) * 1000),
    isSecure: endpoint.protocol === 'https:',
    headers: method === 'GET' ? responseHeaders : undefined,
  }
  const url = container.linkOf(key, serviceSas({ account, key: credentials.key }, link))
  return { url, headers: method === 'PUT' ? { 'x-ms-blob-type': 'BlockBlob' } : {} }
}

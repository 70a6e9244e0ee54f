/**
 * Metadata documents: an application whose id is the https address of its description, as in
 * https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/. Only members can make the server read one.
 */
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { type ClientMetadata, parseClientMetadata } from './client-metadata.ts'
import { OAuthError } from './oauth-error.ts'

/** Characters of an address. */
const maxAddress = 1000
/** Bytes of a document. */
const maxDocument = 32 * 1024
/** Milliseconds for a document. */
const timeout = 5000
/** Milliseconds for which a document is kept. Failures are not. */
const lifetime = 5 * 60_000
const maxKept = 500
const atOnce = 8

/** Returns whether the id of an application is an address, and not that of a registration. */
export function isDocumentAddress(clientId: string): boolean {
  return clientId.startsWith('https://')
}

/** @param fetch connects to addresses of public networks only */
export function createClientDocuments(fetch: typeof globalThis.fetch) {
  const kept = new LruMap<string, { metadata: ClientMetadata; until: number }>(maxKept)
  const limiter = new Limiter(atOnce)

  async function read(address: string, signal: AbortSignal): Promise<Buffer> {
    const response = await fetch(address, {
      headers: { accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    })
    const type = response.headers.get('content-type') ?? ''
    if (response.status !== 200 || !/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
      await response.body?.cancel()
      throw new Error(`The response has the status ${response.status}`)
    }
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of response.body ?? []) {
      length += chunk.length
      // To leave the loop cancels the response.
      if (length > maxDocument) throw new Error('The document is too long')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  async function load(address: string, signal: AbortSignal): Promise<ClientMetadata> {
    const bytes = await read(address, signal).catch(cause => {
      signal.throwIfAborted()
      const { host } = new URL(address)
      throw new AppError('UNAVAILABLE', `${host} does not serve the description of the application.`, { cause })
    })
    const value = parse(bytes.toString())
    if (value.client_id !== address) {
      throw new OAuthError('invalid_client', 'The description is for another application: its "client_id" differs.')
    }
    if ('client_secret' in value) throw new OAuthError('invalid_client', 'The description contains a secret.')
    return parseClientMetadata(value, 'The description of the application')
  }

  return {
    /** Returns what an application says about itself. @throws OAuthError, UNAVAILABLE, and the reason of the signal */
    async find(clientId: string, signal: AbortSignal): Promise<ClientMetadata> {
      requireAddress(clientId)
      const known = kept.get(clientId)
      if (known && known.until > performance.now()) return known.metadata
      const metadata = await limiter.run(() => load(clientId, signal))
      kept.set(clientId, { metadata, until: performance.now() + lifetime })
      return metadata
    },
  }
}

/** Requires an address in its simple form, so that two texts never name one document. @throws OAuthError */
function requireAddress(text: string): void {
  const url = text.length <= maxAddress && URL.canParse(text) ? new URL(text) : null
  const isSimple = url?.href === text && url.protocol === 'https:' && url.pathname !== '/'
  if (isSimple && url.hash === '' && url.username === '' && url.password === '') return
  throw new OAuthError('invalid_client', 'The id of the application is not the address of a metadata document.')
}

/** @throws OAuthError */
function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // The text is not JSON.
  }
  throw new OAuthError('invalid_client', 'The description of the application is not a JSON object.')
}

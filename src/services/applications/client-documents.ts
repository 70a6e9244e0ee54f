/**
 * Metadata documents: an application whose id is the https address of its description, as in
 * https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/. Only members can make the server read one.
 */
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { readAtMost } from '../../lib/read-at-most.ts'
import { type ClientMetadata, parseClientMetadata } from './client-metadata.ts'
import { OAuthError } from './oauth-error.ts'

/** Characters of an address. */
const maxAddress = 1000
/** Bytes of a document. */
const maxDocument = 32 * 1024
/** Milliseconds for a document. */
const timeout = 5000
/** Milliseconds for which a document is kept. */
const lifetime = 5 * 60_000
/** The same for a failure. */
const failureLifetime = 10_000
const maxKept = 500

/** The content of a document, and the host that serves it. */
export interface ClientDocument extends ClientMetadata {
  host: string
}

interface KeptDocument {
  /** @throws the error of the reading */
  open(): ClientDocument
  /** In milliseconds of `performance.now()`. */
  until: number
}

/** Returns whether the id of an application is an address, and not that of a registration. */
export function isDocumentAddress(clientId: string): boolean {
  return clientId.startsWith('https://')
}

/** @param fetch connects to addresses of public networks only */
export function createClientDocuments(fetch: typeof globalThis.fetch) {
  const kept = new LruMap<string, KeptDocument>(maxKept)
  const queue = new FairQueue({
    running: 8,
    runningOfOwner: 2,
    slots: 64,
    slotsOfOwner: 8,
    refusals: { owner: 'You wait for too many applications', all: 'The server reads too many applications' },
  })

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
    return readAtMost(response, maxDocument)
  }

  async function load({ href: address, host }: URL, signal: AbortSignal): Promise<ClientDocument> {
    const bytes = await read(address, signal).catch(cause => {
      signal.throwIfAborted()
      throw new AppError('UNAVAILABLE', `${host} does not serve the description of the application.`, { cause })
    })
    const value = parse(bytes.toString())
    if (value.client_id !== address) {
      throw new OAuthError('invalid_client', 'The description is for another application: its "client_id" differs.')
    }
    if ('client_secret' in value) throw new OAuthError('invalid_client', 'The description contains a secret.')
    return { host, ...parseClientMetadata(value, 'The description of the application') }
  }

  function recent(address: URL): KeptDocument | null {
    const known = kept.get(address.href)
    return known && known.until > performance.now() ? known : null
  }

  async function loadOnce(address: URL, signal: AbortSignal): Promise<KeptDocument> {
    // Somebody else may have read it during the wait.
    const known = recent(address)
    if (known) return known
    const [open, time] = await load(address, signal).then(
      document => [() => document, lifetime] as const,
      error => {
        if (!(error instanceof AppError)) throw error
        return [() => raise(error), failureLifetime] as const
      },
    )
    const loaded = { open, until: performance.now() + time }
    kept.set(address.href, loaded)
    return loaded
  }

  return {
    /**
     * Returns what an application says about itself. Members take turns, and each has a few at once.
     * @throws OAuthError, UNAVAILABLE, RATE_LIMITED, and the reason of the signal
     */
    async find(clientId: string, userId: string, signal: AbortSignal): Promise<ClientDocument> {
      const address = parseAddress(clientId)
      const known = recent(address) ?? (await queue.run(userId, signal, () => loadOnce(address, signal)))
      return known.open()
    },
  }
}

/** Throws an error of its own for each request, because the audit log records each error once. */
function raise(error: AppError): never {
  const { message, reason, cause } = error
  if (error instanceof OAuthError) throw new OAuthError(error.error, message, { reason, cause })
  throw new AppError(reason, message, { cause })
}

/** Returns an address in its simple form, so that two texts never name one document. @throws OAuthError */
function parseAddress(text: string): URL {
  const url = text.length <= maxAddress && URL.canParse(text) ? new URL(text) : null
  const isSimple = url?.href === text && url.protocol === 'https:' && url.pathname !== '/'
  if (isSimple && url.hash === '' && url.username === '' && url.password === '') return url
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

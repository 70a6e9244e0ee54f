import { Readable } from 'node:stream'
import { delayBefore, pause } from '../../bases/retry.ts'
import { type HttpHeaders, StreamHttp } from '../../bases/stream-http.ts'
import { type Call, type Network, StorageError } from '../../contract.ts'
import { Authorization } from './authorization.ts'
import type { WebdavSettings } from './config.ts'
import { refusal, toStorageError } from './errors.ts'
import { changesIn, type DavResource, decodeHref, resourcesIn } from './multistatus.ts'

/** Bytes of an error's body for the log. */
const maxDetails = 500
/** Attempts to send one request: on another connection, with other credentials, to another path of a folder, or after the end of a lock. */
const maxAttempts = 7
/** Milliseconds between attempts after a lock: some servers lock each path that they change. */
const lockDelays = { first: 20, longest: 5_000 }

/** Milliseconds until the response to a download begins, or without a byte of an upload. The host ends a download that stalls. */
const fileTime = 5 * 60_000
/** Bytes of an upload that are read ahead. */
const uploadBuffer = 256 * 1024

export interface DavResponse {
  status: number
  headers: Headers
  body: AsyncIterable<Uint8Array> | null
  /** Ends a body that nobody reads. */
  discard(): void
}

export interface DavOptions extends Call {
  headers?: Record<string, string>
  /** A stream is sent once. A buffer can be sent again, with other credentials or on another connection. */
  body?: Buffer | AsyncIterable<Buffer>
}

/**
 * Methods that are sent again where the server closes the connection instead of responding, as it may close an idle one just
 * when it is used again (RFC 9112, section 9.3.1). Other methods could fail when they are repeated, because the
 * first attempt may have made the change.
 */
const repeatable = new Set(['OPTIONS', 'PROPFIND', 'REPORT', 'GET', 'PUT'])
/** Codes of `fetch` and of sockets. */
const closedCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** Sends requests to one server. */
export class DavClient {
  readonly #origin: URL
  readonly #network: Network
  readonly #authorization: Authorization
  readonly #files: StreamHttp

  constructor(settings: WebdavSettings, network: Network) {
    this.#origin = settings.origin
    this.#network = network
    this.#authorization = new Authorization(settings)
    this.#files = new StreamHttp(network, settings.origin.protocol)
  }

  /**
   * Resolves with a response whose status is below 300.
   * @param path encoded
   * @throws the StorageError of the status
   */
  async send(method: string, path: string, options: DavOptions): Promise<DavResponse> {
    const isStream = options.body !== undefined && !Buffer.isBuffer(options.body)
    const isRepeatable = !isStream && repeatable.has(method)
    for (let [attempt, target] = [1, path]; ; attempt += 1) {
      const authorization = this.#authorization.header(method, target)
      const response = await this.#send(method, target, authorization, options).catch(error => {
        if (isRepeatable && attempt < maxAttempts && isClosed(error)) return null
        throw error
      })
      if (!response) continue
      const { status, headers } = response
      if (status < 300) return response
      const details = await startOf(response)
      options.signal.throwIfAborted()
      if (attempt < maxAttempts && !isStream) {
        if (status === 401 && this.#authorization.answers(headers.get('www-authenticate'), authorization)) continue
        if (status === 423) {
          await pause(delayBefore(attempt, lockDelays), options.signal)
          continue
        }
        if (method === 'PROPFIND' && this.#isFolderOf(target, headers.get('location'))) {
          target += '/'
          continue
        }
      }
      throw refusal(method, status, { retryAfter: headers.get('retry-after'), details })
    }
  }

  /** Sends a request whose response has no content that matters. */
  async run(method: string, path: string, options: DavOptions): Promise<DavResponse> {
    const response = await this.send(method, path, options)
    const details = await startOf(response)
    // The response lists what could not be changed.
    if (response.status === 207) throw refusal(method, 207, { retryAfter: null, details })
    return response
  }

  /** Yields the body of a response. @throws UNAVAILABLE where the connection is lost */
  async *content({ body }: DavResponse): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* body ?? []
    } catch (error) {
      throw toStorageError(error, this.#origin)
    }
  }

  /** Yields the resources of a response to PROPFIND. @throws UNAVAILABLE */
  resources(response: DavResponse): AsyncGenerator<DavResource> {
    return resourcesIn(this.content(response))
  }

  /** Passes on the resources of a response about changes. Returns the position after them. @throws UNAVAILABLE */
  changes(response: DavResponse, onResource: (resource: DavResource) => void): Promise<string | null> {
    return changesIn(this.content(response), onResource)
  }

  close(): void {
    this.#files.close()
  }

  async #send(
    method: string,
    target: string,
    authorization: string | undefined,
    { signal, headers, body }: DavOptions,
  ): Promise<DavResponse> {
    const url = `${this.#origin.origin}${target}`
    const sent = { 'user-agent': 'Stowage', ...(authorization !== undefined && { authorization }), ...headers }
    try {
      if (body !== undefined && !Buffer.isBuffer(body)) {
        const content = Readable.from(body, { objectMode: false, highWaterMark: uploadBuffer })
        return await this.#stream(new URL(url), { method, headers: sent, signal, body: content })
      }
      if (method === 'GET') return await this.#stream(new URL(url), { method, headers: sent, signal })
      const response = await this.#network.fetch(url, {
        method,
        signal,
        redirect: 'manual',
        headers: sent,
        ...(body && { body: body as NonNullable<RequestInit['body']> }),
      })
      const { status, headers: received, body: content } = response
      return { status, headers: received, body: content, discard: () => void content?.cancel().catch(() => {}) }
    } catch (error) {
      signal.throwIfAborted()
      throw toStorageError(error, this.#origin)
    }
  }

  async #stream(
    url: URL,
    request: { method: string; headers: HttpHeaders; signal: AbortSignal; body?: Readable },
  ): Promise<DavResponse> {
    const isStreamed = request.body === undefined
    const response = await this.#files.send(url, { ...request, timeout: fileTime, isStreamed })
    const received = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string])
    const discard = () => void response.destroy()
    return { status: response.statusCode ?? 0, headers: new Headers(received), body: response, discard }
  }

  /** Returns whether the server redirects to the same path as that of a folder. */
  #isFolderOf(target: string, location: string | null): boolean {
    if (location === null || target.endsWith('/')) return false
    const to = URL.parse(location, `${this.#origin.origin}${target}`)
    return (
      to?.origin === this.#origin.origin && to.pathname.endsWith('/') && decodeHref(to.pathname) === decodeHref(target)
    )
  }
}

function isClosed(error: unknown): boolean {
  const cause = error instanceof StorageError && error.cause
  return cause instanceof Error && 'code' in cause && closedCodes.has(String(cause.code))
}

/** Returns the start of a response, and reads no more of it. */
async function startOf({ body }: DavResponse): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length >= maxDetails) break
    }
  } catch {
    // The status is known already.
  }
  return text.slice(0, maxDetails)
}

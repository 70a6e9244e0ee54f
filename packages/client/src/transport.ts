/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { errorOf, networkError } from './error.ts'
import type { RetryOptions, ShouldRetry } from './retry.ts'

/**
 * Sends a request in a browser and reports the progress of its body, which `fetch` does not. Cookies are sent to the origin of
 * the page.
 * @throws TypeError if no response arrives, and the reason of the signal
 */
function sendWithProgress(
  url: string,
  { method, headers, body, signal }: { method: string; headers: Headers; body: Blob; signal: AbortSignal | undefined },
  onSent: (bytes: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const request = new XMLHttpRequest()
    const onAbort = () => request.abort()
    signal?.addEventListener('abort', onAbort)
    request.open(method, url)
    for (const [name, value] of headers) request.setRequestHeader(name, value)
    request.responseType = 'blob'
    request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded))
    request.addEventListener('load', () => resolve(responseOf(request)))
    request.addEventListener('error', () => reject(new TypeError('The request failed.')))
    request.addEventListener('abort', () => reject(signal?.reason))
    request.addEventListener('loadend', () => signal?.removeEventListener('abort', onAbort))
    request.send(body)
  })
}

/** Statuses of responses that must not have a body. */
const bodyless = new Set([204, 205, 304])

function responseOf(request: XMLHttpRequest): Response {
  const lines = request.getAllResponseHeaders().split('\r\n').filter(Boolean)
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  const { status } = request
  return new Response(bodyless.has(status) ? null : (request.response as Blob), { status, headers })
}

export interface StowageOptions {
  /** The address of the server, such as `https://files.example.org`. */
  url: string
  /** A session token or an API key. Without one, only public operations work. */
  credential?: string
  /** Sent with each request to the server. */
  headers?: Readonly<Record<string, string>>
  /** Whether a page on the origin of the server sends its cookies. Default: false. */
  sendCookies?: boolean
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
  /** The number of retries after temporary failures in a row. Default: 4. */
  retries?: number
  /** Decides after each error of a call that can be repeated whether to try again, instead of `retries`. */
  shouldRetry?: ShouldRetry
}

/** Sends requests to the server with the credential. */
export class Transport {
  readonly #base: string
  readonly #headers: ReadonlyMap<string, string>
  readonly #sendCookies: boolean
  readonly #fetch: typeof fetch
  readonly #hasProgress: boolean
  readonly #shouldRetry: ShouldRetry

  constructor({
    url,
    credential,
    headers = {},
    sendCookies = false,
    fetch: given,
    retries = 4,
    shouldRetry,
  }: StowageOptions) {
    const base = new URL(url).href
    this.#base = base.endsWith('/') ? base.slice(0, -1) : base
    this.#headers = new Map(Object.entries(headers))
    if (credential !== undefined) this.#headers = new Map([...this.#headers, ['authorization', `Bearer ${credential}`]])
    this.#sendCookies = sendCookies
    this.#fetch = given ?? fetch
    this.#hasProgress = given === undefined && 'XMLHttpRequest' in globalThis
    this.#shouldRetry = shouldRetry ?? (({ retryable }, failures) => retryable && failures <= retries)
  }

  /** Returns how the calls with these options are repeated after temporary failures. */
  retryOf({ signal, shouldRetry }: { signal?: AbortSignal | undefined; shouldRetry?: ShouldRetry }): RetryOptions {
    return { shouldRetry: shouldRetry ?? this.#shouldRetry, signal }
  }

  /** Returns the absolute URL of a path of the server. */
  urlOf(path: string, query: Record<string, string | undefined> = {}): string {
    const given = Object.entries(query).filter((each): each is [string, string] => each[1] !== undefined)
    const search = new URLSearchParams(given).toString()
    return `${this.#base}${path}${search === '' ? '' : `?${search}`}`
  }

  /**
   * Resolves with any response, also with one that reports an error.
   * @param onSent called with the bytes of a blob that are sent so far. Only browsers report them.
   * @throws StowageError if none arrives
   */
  async send(url: string, init: RequestInit, onSent?: (bytes: number) => void): Promise<Response> {
    const headers = new Headers(init.headers)
    // The credential goes to the server only, and not to a link that leads to a back end.
    if (url.startsWith(`${this.#base}/`)) for (const [name, value] of this.#headers) headers.set(name, value)
    const credentials = this.#sendCookies ? 'same-origin' : 'omit'
    const { method = 'GET', body, signal } = init
    const doFetch = this.#fetch
    try {
      if (onSent && body instanceof Blob && this.#hasProgress && (this.#sendCookies || !isOwnOrigin(url)))
        return await sendWithProgress(url, { method, headers, body, signal: signal ?? undefined }, onSent)
      return await doFetch(url, { ...init, headers, credentials })
    } catch (cause) {
      signal?.throwIfAborted()
      throw networkError(`${new URL(url).origin} cannot be reached. Check your connection, then try again.`, cause)
    }
  }

  /** Resolves with a response of a status below 400. @throws StowageError */
  async request(url: string, init: RequestInit, onSent?: (bytes: number) => void): Promise<Response> {
    const response = await this.send(url, init, onSent)
    if (response.status < 400) return response
    const body = await response.json().catch(() => null)
    throw errorOf(response, body)
  }
}

/** Returns whether the page has this origin, to which an XMLHttpRequest sends cookies. */
function isOwnOrigin(url: string): boolean {
  return new URL(url).origin === globalThis.location?.origin
}

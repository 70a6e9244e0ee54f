import { errorOf, networkError } from './error.ts'

export interface StowageOptions {
  /** The address of the server, such as `https://files.example.org`. */
  url: string
  /** A session token or an API key. Without one, only public operations work. */
  credential?: string
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
  /** The number of retries after a temporary failure. Default: 4. */
  retries?: number
}

/** Sends requests to the server with the credential. */
export class Transport {
  readonly retries: number
  readonly #base: string
  readonly #credential: string | undefined
  readonly #fetch: typeof fetch

  constructor({ url, credential, fetch: given = fetch, retries = 4 }: StowageOptions) {
    const base = new URL(url).href
    this.#base = base.endsWith('/') ? base.slice(0, -1) : base
    this.#credential = credential
    this.#fetch = given
    this.retries = retries
  }

  /** Returns the absolute URL of a path of the server. */
  urlOf(path: string, query: Record<string, string | undefined> = {}): string {
    const given = Object.entries(query).filter((each): each is [string, string] => each[1] !== undefined)
    const search = new URLSearchParams(given).toString()
    return `${this.#base}${path}${search === '' ? '' : `?${search}`}`
  }

  /** Resolves with any response, also with one that reports an error. @throws StowageError if none arrives */
  async send(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers)
    // The credential goes to the server only, and not to a link that leads to a back end.
    if (this.#credential !== undefined && url.startsWith(`${this.#base}/`)) {
      headers.set('authorization', `Bearer ${this.#credential}`)
    }
    const doFetch = this.#fetch
    try {
      return await doFetch(url, { ...init, headers, credentials: 'omit' })
    } catch (cause) {
      init.signal?.throwIfAborted()
      throw networkError(`${new URL(url).origin} cannot be reached.`, cause)
    }
  }

  /** Resolves with a response of a status below 400. @throws StowageError */
  async request(url: string, init: RequestInit): Promise<Response> {
    const response = await this.send(url, init)
    if (response.status < 400) return response
    const body = await response.json().catch(() => null)
    throw errorOf(response, body)
  }
}

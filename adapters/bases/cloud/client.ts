/** Requests to the API of a vendor, and to its endpoint for tokens. */
import { PassThrough, pipeline, Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { type Network, StorageError, type Tokens } from '../../contract.ts'
import { type Backoff, parseRetryAfter } from '../retry.ts'
import { causeForLog, type Failure, property, type Refusals, toStorageError } from './errors.ts'
import { repeat, type Timeouts, usualTimeouts, waitFor } from './repeat.ts'
import type { TokenSource } from './tokens.ts'

/** A vendor whose API returns JSON. */
export interface Vendor extends Refusals {
  /** Returns the vendor's word for the reason of a refusal. @param body the parsed JSON, or text that is no JSON */
  reasonOf(body: unknown): string | undefined
}

export interface HttpRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  url: URL | string
  json?: object
  body?: Uint8Array | URLSearchParams
  headers?: Record<string, string>
  /** True if the response is a file. */
  stream?: boolean
  /** True for a URL that is itself the permission. No token is sent to it. */
  isPermission?: boolean
  /** Statuses other than 2xx that are not errors. */
  accept?: readonly number[]
  /** True where the request can be repeated safely after a lost response. Default: for GET. */
  repeatable?: boolean
  /** True if an abort ends only the waits between attempts, so that the outcome of a change is known. */
  isCommit?: boolean
  signal: AbortSignal
}

export interface HttpResponse {
  status: number
  headers: Headers
  /** The parsed JSON; undefined for an empty response and for a file. */
  data: unknown
  /** The file, of a request with `stream`. */
  body: Readable | undefined
}

/** Returns the body of a read that has the length which was requested, and destroys any other one. @throws UNAVAILABLE */
export function bodyOfLength(
  { headers, body = Readable.from([]) }: Pick<HttpResponse, 'headers' | 'body'>,
  bytes: number,
  vendor: string,
): Readable {
  const length = headers.get('content-length')
  if (length === null || Number(length) === bytes) return body
  body.destroy()
  throw new StorageError('UNAVAILABLE', `${vendor} sent another part of the file than requested: try again.`)
}

/** A request that failed for good. It carries details of the response that a StorageError cannot. */
export class RequestFailure extends Error {
  readonly failure: Failure
  readonly body: unknown
  constructor(failure: Failure, body: unknown) {
    super('The vendor refused a request.', { cause: failure.cause })
    this.failure = failure
    this.body = body
  }
}

interface ClientOptions {
  vendor: Vendor
  network: Network
  /** Undefined for a client that sends only requests without a token. */
  token: TokenSource | undefined
  backoff: Backoff
  timeouts: Timeouts
}

/** Sends the requests of one account. Handles tokens, timeouts, retries and backoff. */
export class HttpClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** @throws RequestFailure; the errors of the token source; the reason of the signal */
  async request(request: HttpRequest): Promise<HttpResponse> {
    const repeatable = request.repeatable ?? (request.method === undefined || request.method === 'GET')
    const options = {
      token: request.isPermission ? undefined : this.#options.token,
      signal: request.signal,
      failureOf: (error: unknown) => (error instanceof RequestFailure ? error.failure : undefined),
      waitFor: (failure: Failure, attempt: number) => this.waitFor(failure, attempt, repeatable),
    }
    return await repeat(options, token => this.#send(request, token))
  }

  /** Returns the milliseconds until the next attempt; undefined for no further attempt. */
  waitFor(failure: Failure, attempt: number, repeatable: boolean): number | undefined {
    const { backoff, vendor } = this.#options
    return waitFor(failure, attempt, { backoff, isRateLimit: vendor.isRateLimit, repeatable })
  }

  async #send(request: HttpRequest, token: string | undefined): Promise<HttpResponse> {
    const { network, timeouts, vendor } = this.#options
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), request.body ? timeouts.upload : timeouts.metadata)
    try {
      const response = await network.fetch(request.url, {
        method: request.method ?? 'GET',
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(request.json && { 'content-type': 'application/json' }),
          // A compressed response has another length and other ranges than the file.
          ...(request.stream && { 'accept-encoding': 'identity' }),
          ...request.headers,
        },
        ...bodyOf(request),
        signal: request.isCommit ? timeout.signal : AbortSignal.any([request.signal, timeout.signal]),
      })
      if (!response.ok && !request.accept?.includes(response.status)) throw await refusalOf(response, vendor)
      const { status, headers } = response
      if (!request.stream) return { status, headers, data: parse(await response.text()), body: undefined }
      const source = response.body ? Readable.fromWeb(response.body as ReadableStream) : Readable.from([])
      const body = withStallTimeout(source, timeouts.stall, vendor.name)
      return { status, headers, data: undefined, body }
    } catch (error) {
      if (error instanceof RequestFailure) throw error
      request.signal.throwIfAborted()
      const cause = causeForLog(error, undefined, undefined)
      throw new RequestFailure({ status: undefined, reason: undefined, retryAfterMs: undefined, cause }, undefined)
    } finally {
      clearTimeout(timer)
    }
  }
}

function bodyOf({ json, body }: HttpRequest): { body?: NonNullable<RequestInit['body']> } {
  if (json) return { body: JSON.stringify(json) }
  return body ? { body: body as Uint8Array<ArrayBuffer> | URLSearchParams } : {}
}

async function refusalOf(response: Response, vendor: Vendor): Promise<RequestFailure> {
  const { status, headers } = response
  const body = parse(await response.text())
  const reason = vendor.reasonOf(body)
  const message = `${status} ${reason ?? (typeof body === 'string' ? body.slice(0, 200) : '')}`.trim()
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'))
  return new RequestFailure({ status, reason, retryAfterMs, cause: causeForLog(message, status, reason) }, body)
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Runs a method of the contract and converts its errors to StorageErrors, or to the reason of an abort. */
export async function withStorageErrors<T>(vendor: Vendor, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  try {
    return await call()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error instanceof RequestFailure ? toStorageError(error.failure, vendor) : error
  }
}

/**
 * Ends a download that receives nothing for `stall` milliseconds, unless the reader is the slow side.
 * @param vendor the vendor's name in the message
 */
function withStallTimeout(source: Readable, stall: number, vendor: string): Readable {
  let moved = false
  const body = new PassThrough({
    transform(chunk, _encoding, done) {
      moved = true
      done(null, chunk)
    },
  })
  const timer = setInterval(() => {
    const isReaderSlow = body.readableLength > 0
    if (!moved && !isReaderSlow)
      source.destroy(new StorageError('UNAVAILABLE', `${vendor} stopped sending the file: try again.`))
    moved = false
  }, stall).unref()
  pipeline(source, body, () => clearInterval(timer))
  return body
}

/** Milliseconds for all attempts to get tokens. */
const grantTime = 30_000

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
  const signal = AbortSignal.timeout(grantTime)
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

import { setTimeout as delay } from 'node:timers/promises'
import type { drive_v3 } from '@googleapis/drive'
import { gaxios } from 'google-auth-library'
import { type Network, orAborted, type StorageError } from '../contract.ts'
import { agentOf } from './agent.ts'
import type { Endpoints } from './config.ts'
import { type Failure, failureOf, isRateLimit, isTransient, toStorageError } from './errors.ts'
import type { TokenSource } from './tokens.ts'

export type DriveFile = drive_v3.Schema$File & { id: string; name: string; mimeType: string }

/** Only the fields that entries, twins and confinement need. */
export const fileFields =
  'id,name,mimeType,size,modifiedTime,createdTime,parents,trashed,driveId,headRevisionId,md5Checksum,sha1Checksum,sha256Checksum'

/** Delays are in milliseconds. */
export interface Backoff {
  /** The delay before the first retry, doubled for each further one. */
  first: number
  /** The maximum delay before a retry. Where Google asks for more, the call fails with RATE_LIMITED or UNAVAILABLE. */
  longest: number
  attempts: number
}

export const usualBackoff: Backoff = { first: 500, longest: 20_000, attempts: 6 }

/** Milliseconds. */
export interface Timeouts {
  /** The timeout of a response. For a stream, it ends when the response starts. */
  metadata: number
  /** The same for a request that uploads content. */
  upload: number
  /** The timeout of a download that receives no bytes. */
  stall: number
  /** The timeout of one request for a token. Google's client retries it. */
  token: number
}

export const usualTimeouts: Timeouts = { metadata: 30_000, upload: 300_000, stall: 60_000, token: 10_000 }

export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** A path below the API's base URL, or an absolute URL. */
  url: string
  query?: Record<string, string | number | boolean | undefined>
  json?: object
  body?: Buffer
  headers?: Record<string, string>
  stream?: boolean
  /** Statuses other than 2xx that are not errors. */
  accept?: readonly number[]
  /** True where the request can be repeated safely after a lost response. Reads always can. */
  repeatable?: boolean
  signal: AbortSignal
}

/** Carries details of Google's response that a StorageError cannot. */
export class ApiFailure extends Error {
  readonly failure: Failure
  readonly attempt: number
  constructor(failure: Failure, attempt: number) {
    super('Google Drive refused a request.', { cause: failure.cause })
    this.failure = failure
    this.attempt = attempt
  }

  toStorageError(): StorageError {
    return toStorageError(this.failure)
  }
}

/** One Google account. Handles tokens, retries and backoff. */
export class DriveApi {
  readonly #http: gaxios.Gaxios
  readonly #endpoints: Endpoints
  readonly #token: TokenSource
  readonly #backoff: Backoff
  readonly timeouts: Timeouts

  constructor(endpoints: Endpoints, network: Network, token: TokenSource, backoff: Backoff, timeouts: Timeouts) {
    this.#http = new gaxios.Gaxios({ agent: agentOf(network) })
    this.#endpoints = endpoints
    this.#token = token
    this.#backoff = backoff
    this.timeouts = timeouts
  }

  /** @throws ApiFailure; the reason of the signal */
  async request<T>(request: ApiRequest): Promise<gaxios.GaxiosResponse<T>> {
    const { signal } = request
    const repeatable = request.repeatable ?? (request.method === undefined || request.method === 'GET')
    let rejected: string | undefined
    for (let attempt = 0; ; attempt += 1) {
      const token = await orAborted(this.#token(rejected), signal)
      try {
        return await this.#send<T>(request, token)
      } catch (error) {
        signal.throwIfAborted()
        const failure = failureOf(error)
        if (failure.status === 401 && rejected === undefined) {
          rejected = token
          continue
        }
        const wait = this.waitFor(failure, attempt, repeatable)
        if (wait === undefined) throw new ApiFailure(failure, attempt)
        await pause(wait, signal)
      }
    }
  }

  /** Returns the milliseconds until the next attempt, doubled each time, with jitter; undefined for no further attempt. */
  waitFor(failure: Failure, attempt: number, repeatable: boolean): number | undefined {
    const { first, longest, attempts } = this.#backoff
    if (attempt + 1 >= attempts) return undefined
    if (!isRateLimit(failure) && !(repeatable && isTransient(failure))) return undefined
    const own = Math.min(longest, first * 2 ** attempt * (0.75 + Math.random() / 2))
    const wait = Math.max(failure.retryAfterMs ?? 0, own)
    return wait > longest ? undefined : wait
  }

  async #send<T>(request: ApiRequest, token: string): Promise<gaxios.GaxiosResponse<T>> {
    const url = new URL(request.url, this.#endpoints.api)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const responseTimeout = new AbortController()
    const timer = setTimeout(
      () => responseTimeout.abort(),
      request.body ? this.timeouts.upload : this.timeouts.metadata,
    )
    const response = this.#http.request<T>({
      url,
      method: request.method ?? 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        // A compressed response has another length and other ranges than the file.
        ...(request.stream ? { 'accept-encoding': 'identity' } : {}),
        ...request.headers,
      },
      ...(request.json ? { data: request.json } : {}),
      ...(request.body ? { data: request.body } : {}),
      responseType: request.stream ? 'stream' : 'json',
      validateStatus: status => (status >= 200 && status < 300) || (request.accept?.includes(status) ?? false),
      retry: false,
      // The client's redactor scans the whole body and blocks the process for a second. `failureOf` keeps no request.
      errorRedactor: false,
      signal: AbortSignal.any([request.signal, responseTimeout.signal]),
    })
    return await response.finally(() => clearTimeout(timer))
  }
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal }).catch(() => {
    throw signal.reason
  })
}

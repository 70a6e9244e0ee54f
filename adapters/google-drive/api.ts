import { setTimeout as delay } from 'node:timers/promises'
import type { drive_v3 } from '@googleapis/drive'
import { gaxios } from 'google-auth-library'
import { type Network, orAborted, type StorageError } from '../contract.ts'
import { agentOf } from './agent.ts'
import type { Endpoints } from './config.ts'
import { type Failure, failureOf, isPassing, isRateLimit, toStorageError } from './errors.ts'
import type { TokenSource } from './tokens.ts'

export type DriveFile = drive_v3.Schema$File & { id: string; name: string; mimeType: string }

/** No more than what entries, twins and confinement need. */
export const fileFields =
  'id,name,mimeType,size,modifiedTime,createdTime,parents,trashed,driveId,headRevisionId,md5Checksum,sha1Checksum,sha256Checksum'

/** Waits in milliseconds. */
export interface Backoff {
  first: number
  /** A longer wait, also one that Google asks for, is left to whoever called. */
  longest: number
  attempts: number
}

export const usualBackoff: Backoff = { first: 500, longest: 20_000, attempts: 6 }

/** Milliseconds. */
export interface Timeouts {
  /** Until an answer, for a stream until it begins; then it counts as a lost one. */
  metadata: number
  /** The same, for a request that carries bytes of a file. */
  upload: number
  /** Until a download goes on. */
  stall: number
  /** Until Google hands out a token; its client tries again some times. */
  token: number
}

export const usualTimeouts: Timeouts = { metadata: 30_000, upload: 300_000, stall: 60_000, token: 10_000 }

export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Below the API's address, or a whole address. */
  url: string
  query?: Record<string, string | number | boolean | undefined>
  json?: object
  body?: Buffer
  headers?: Record<string, string>
  stream?: boolean
  /** Statuses that are answers beside 2xx. */
  accept?: readonly number[]
  /** A second time does no harm, so a lost answer is no reason to fail. Reads always are. */
  repeatable?: boolean
  signal: AbortSignal
}

/** Thrown where Google's answer says more than a StorageError can. */
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

/** One account at Google: tokens, retries and waits are dealt with here. */
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

  /** Milliseconds until another attempt; undefined where there is none. Doubled each time, with jitter. */
  waitFor(failure: Failure, attempt: number, repeatable: boolean): number | undefined {
    const { first, longest, attempts } = this.#backoff
    if (attempt + 1 >= attempts) return undefined
    if (!isRateLimit(failure) && !(repeatable && isPassing(failure))) return undefined
    const own = Math.min(longest, first * 2 ** attempt * (0.75 + Math.random() / 2))
    const wait = Math.max(failure.retryAfterMs ?? 0, own)
    return wait > longest ? undefined : wait
  }

  async #send<T>(request: ApiRequest, token: string): Promise<gaxios.GaxiosResponse<T>> {
    const url = new URL(request.url, this.#endpoints.api)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const waiting = new AbortController()
    const timer = setTimeout(() => waiting.abort(), request.body ? this.timeouts.upload : this.timeouts.metadata)
    const answer = this.#http.request<T>({
      url,
      method: request.method ?? 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        // Packed bytes have neither their length nor their ranges.
        ...(request.stream ? { 'accept-encoding': 'identity' } : {}),
        ...request.headers,
      },
      ...(request.json ? { data: request.json } : {}),
      ...(request.body ? { data: request.body } : {}),
      responseType: request.stream ? 'stream' : 'json',
      validateStatus: status => (status >= 200 && status < 300) || (request.accept?.includes(status) ?? false),
      retry: false,
      // Its own looks at each byte of the body, a second in which nothing else runs; of the error no request is kept.
      errorRedactor: false,
      signal: AbortSignal.any([request.signal, waiting.signal]),
    })
    return await answer.finally(() => clearTimeout(timer))
  }
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal }).catch(() => {
    throw signal.reason
  })
}

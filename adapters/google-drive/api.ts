import type { drive_v3 } from '@googleapis/drive'
import { gaxios } from 'google-auth-library'
import { type Backoff, pause, type Timeouts, waitFor } from '../cloud/backoff.ts'
import type { Failure } from '../cloud/failure.ts'
import type { TokenSource } from '../cloud/tokens.ts'
import { type Network, orAborted, type StorageError } from '../contract.ts'
import { agentOf } from './agent.ts'
import type { Endpoints } from './config.ts'
import { failureOf, isRateLimit, toStorageError } from './errors.ts'

export type DriveFile = drive_v3.Schema$File & { id: string; name: string; mimeType: string }

/** Only the fields that entries, twins and confinement need. */
export const fileFields =
  'id,name,mimeType,size,modifiedTime,createdTime,parents,trashed,explicitlyTrashed,driveId,headRevisionId,md5Checksum,sha1Checksum,sha256Checksum'

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

  /** Returns the milliseconds until the next attempt; undefined for no further attempt. */
  waitFor(failure: Failure, attempt: number, repeatable: boolean): number | undefined {
    return waitFor(failure, attempt, { backoff: this.#backoff, isRateLimit, repeatable })
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

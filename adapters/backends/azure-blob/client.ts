/** One container: connections, retries, tokens, and the errors of requests. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Failure } from '../../bases/cloud/errors.ts'
import { repeat, waitFor } from '../../bases/cloud/repeat.ts'
import type { TokenSource } from '../../bases/cloud/tokens.ts'
import { hasCode } from '../../bases/errors.ts'
import type { KeyPage, ObjectLimits } from '../../bases/objects/driver.ts'
import { type Backoff, parseRetryAfter } from '../../bases/retry.ts'
import { type HttpHeaders, StreamHttp } from '../../bases/stream-http.ts'
import type { Host } from '../../contract.ts'
import type { AzureSettings } from './config.ts'
import { type Described, describe, encodeKey } from './entry.ts'
import { failureOf, type Refusal, refusalOf, refused, unreached } from './errors.ts'
import { apiVersion, sharedKey } from './signature.ts'
import { parseListing } from './xml.ts'

/** Limits, which tests set to lower values. */
export interface Limits extends ObjectLimits {
  backoff: Backoff
}

const mib = 1024 * 1024

export const defaultLimits: Limits = {
  partBytes: 8 * mib,
  memoryBytes: 32 * mib,
  memoryTime: 60_000,
  graceTime: 4_000,
  idleTime: 60_000,
  backoff: { first: 300, longest: 5_000, attempts: 4 },
}

/** Time without a byte in a slow call, such as a copy. */
const slowCallTime = 10 * 60_000
/** Azure refuses requests whose date differs by 15 minutes. */
const clockTolerance = 5 * 60_000

export interface BlobRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** The name of a blob or a folder. Default: the container itself. */
  key?: string
  /** Parameters before encoding. */
  query?: HttpHeaders
  /** By name, in lowercase. */
  headers?: HttpHeaders
  /** A stream is sent once. Its length is in the headers. */
  body?: Buffer | Readable
  /** The service for hierarchical namespaces. Default: that for blobs. */
  service?: 'dfs'
  /** True where the back end works for minutes without a byte on the connection. */
  isSlow?: boolean
}

export interface BlobResponse {
  headers: IncomingHttpHeaders
  text: string
  /** The number of times that the request was sent. The response to an earlier attempt may be lost. */
  attempts: number
}

/** One container. Retries its requests and throws only StorageErrors and the reason of an abort. */
export class Container {
  readonly settings: AzureSettings
  readonly limits: Limits
  readonly #http: StreamHttp
  readonly #token: TokenSource | undefined
  /** Milliseconds by which the clock of Azure is ahead. */
  #clockOffset = 0

  constructor(
    settings: AzureSettings,
    { network }: Pick<Host, 'network'>,
    limits: Limits,
    token: TokenSource | undefined,
  ) {
    this.settings = settings
    this.limits = limits
    this.#http = new StreamHttp(network, settings.endpoint.protocol)
    this.#token = token
  }

  /** @param key the name of a blob, or the prefix of a folder: empty for the whole container, otherwise ending in `/` */
  fileId(key: string): string {
    return this.settings.storeId + key
  }

  /** Milliseconds since 1970 by the clock of Azure. */
  clock(): number {
    return Date.now() + this.#clockOffset
  }

  /** Omit the signal for requests that must not be interrupted. */
  async call(request: BlobRequest, signal?: AbortSignal): Promise<BlobResponse> {
    return await this.#repeat(request, signal, false, async (response, attempts) => {
      return { headers: response.headers, text: await textOf(response), attempts }
    })
  }

  /** Sends a request whose response body is streamed. */
  async stream(request: BlobRequest, signal: AbortSignal): Promise<IncomingMessage> {
    return await this.#repeat(request, signal, true, async response => response)
  }

  /** Returns undefined for a missing blob. */
  async head(key: string, signal?: AbortSignal): Promise<Described | undefined> {
    try {
      const { headers } = await this.call({ method: 'HEAD', key }, signal)
      return describe(headers, Number(headers['content-length'] ?? 0))
    } catch (error) {
      if (hasCode(error, 'NOT_FOUND')) return undefined
      throw error
    }
  }

  async remove(key: string, signal?: AbortSignal): Promise<void> {
    await this.call({ method: 'DELETE', key }, signal).catch(error => {
      if (!hasCode(error, 'NOT_FOUND')) throw error
    })
  }

  /** Sends one request for a listing, which is empty for a missing folder. */
  async list(
    prefix: string,
    { limit, delimiter, after }: { limit: number; delimiter?: '/'; after?: string | undefined },
    signal?: AbortSignal,
  ): Promise<KeyPage<Described>> {
    const query = {
      restype: 'container',
      comp: 'list',
      include: 'metadata',
      maxresults: String(limit),
      ...(prefix && { prefix }),
      ...(delimiter && { delimiter }),
      ...(after && { marker: after }),
    }
    try {
      const { text } = await this.call({ method: 'GET', query }, signal)
      return parseListing(text)
    } catch (error) {
      if (hasCode(error, 'NOT_FOUND')) return { items: [], next: undefined }
      throw error
    }
  }

  /** Returns the address of a blob or of a version of it; with the shared access signature, if that is how it is read. */
  urlOf(key: string, versionId?: string): URL {
    const { credentials } = this.settings
    const version = versionId === undefined ? {} : { versionid: versionId }
    return this.#url({ key }, { ...version, ...(credentials.kind === 'sas' && credentials.query) })
  }

  /** Returns the address of a request, or of a link. */
  linkOf(key: string, query: HttpHeaders): URL {
    return this.#url({ key }, query)
  }

  close(): void {
    this.#http.close()
  }

  async #repeat<T>(
    request: BlobRequest,
    signal: AbortSignal | undefined,
    isStreamed: boolean,
    read: (response: IncomingMessage, attempts: number) => Promise<T>,
  ): Promise<T> {
    const { backoff } = this.limits
    const isSentOnce = request.body instanceof Readable
    let sent = 0
    let adjusted = false
    const options = {
      token: this.#token,
      signal,
      failureOf: (error: unknown) => (isSentOnce ? undefined : failureOf(error)),
      waitFor: (failure: Failure, attempt: number) => {
        return waitFor(failure, attempt, {
          backoff,
          isRateLimit: ({ reason }) => reason === 'RATE_LIMITED',
          repeatable: true,
        })
      },
    }
    const sendOnce = async (token: string | undefined): Promise<T> => {
      signal?.throwIfAborted()
      sent += 1
      try {
        const response = await this.#send(request, token, signal, isStreamed)
        const { statusCode: status = 0 } = response
        if (status >= 200 && status < 300) return await read(response, sent)
        await textOf(response)
        const failure = refused(toRefusal(response, sent), this.settings)
        if (isSentOnce || adjusted || !hasCode(failure, 'UNAUTHORIZED') || !this.#adoptClock(response)) throw failure
      } catch (error) {
        signal?.throwIfAborted()
        throw unreached(error, this.settings)
      }
      adjusted = true
      return await sendOnce(token)
    }
    return await repeat(options, sendOnce)
  }

  async #send(
    request: BlobRequest,
    token: string | undefined,
    signal: AbortSignal | undefined,
    isStreamed: boolean,
  ): Promise<IncomingMessage> {
    const { method, query = {}, body } = request
    const { account, credentials } = this.settings
    const hasLength = method === 'PUT' && !(body instanceof Readable)
    const headers: Record<string, string> = {
      'x-ms-date': new Date(this.clock()).toUTCString(),
      'x-ms-version': apiVersion,
      ...(hasLength && { 'content-length': String(body?.length ?? 0) }),
      ...request.headers,
    }
    const url = this.#url(request, { ...query, ...(credentials.kind === 'sas' && credentials.query) })
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (credentials.kind === 'key') {
      const unsigned = { method, path: url.pathname, query, headers }
      headers.authorization = sharedKey({ account, key: credentials.key }, unsigned)
    }
    const timeout = request.isSlow ? slowCallTime : this.limits.idleTime
    return await this.#http.send(url, { method, headers, body, signal, timeout, isStreamed })
  }

  #url({ key, service }: Pick<BlobRequest, 'key' | 'service'>, query: HttpHeaders): URL {
    const { endpoint, dfsEndpoint = endpoint, container } = this.settings
    const top = service === 'dfs' ? dfsEndpoint : endpoint
    const path = key === undefined ? container : `${container}/${encodeKey(key)}`
    const parameters = Object.entries(query).map(pair => pair.map(encodeURIComponent).join('='))
    return new URL(`${top.href}${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`)
  }

  /** Returns true if the clocks differ so much that Azure refuses requests for it. */
  #adoptClock({ headers }: IncomingMessage): boolean {
    const theirs = Date.parse(headers.date ?? '')
    if (!(Math.abs(theirs - this.clock()) > clockTolerance)) return false
    this.#clockOffset = theirs - Date.now()
    return true
  }
}

function toRefusal({ statusCode = 0, headers }: IncomingMessage, attempts: number): Refusal {
  const text = (name: string) => headers[name]?.toString() ?? ''
  return {
    status: statusCode,
    code: text('x-ms-error-code'),
    requestId: text('x-ms-request-id'),
    retryAfterMs: parseRetryAfter(headers['retry-after']),
    attempts,
  }
}

/**
 * Returns true if an earlier attempt of the refused request may have succeeded although its response was lost, so that an
 * existing blob may be our own.
 */
export function wasRepeated(error: unknown): boolean {
  return (refusalOf(error)?.attempts ?? 1) > 1
}

/** Bytes of a response that is not streamed: a page of a listing with long metadata. */
const maxText = 32 * 1024 * 1024

/** Reads a response to its end, so that its connection can be used again. @throws errors of sockets */
async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxText) throw Object.assign(new Error('the response is too long'), { code: 'EMSGSIZE' })
  }
  return Buffer.concat(chunks).toString()
}

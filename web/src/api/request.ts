import type { TadaDocumentNode } from 'gql.tada'
import { urlOf } from './base-path.ts'
import { print } from './print.ts'

/** A failed request. The message comes from the server when it sent one, and is shown to the person. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** The HTTP status; 0 if no response arrived. */
  readonly status: number
  /** A stable code, such as OUTSIDE_BASE_PATH. */
  readonly reason: string
  readonly requestId: string | null
  /** Names of the invalid properties of the input. */
  readonly properties: readonly string[]

  constructor(
    message: string,
    details: {
      status: number
      reason: string
      requestId?: string | null
      properties?: readonly string[]
      cause?: unknown
    },
  ) {
    super(message, { cause: details.cause })
    this.status = details.status
    this.reason = details.reason
    this.requestId = details.requestId ?? null
    this.properties = details.properties ?? []
  }
}

/** The server accepts the session cookie only together with this header: see src/console/session.ts. */
export const consoleHeaders = { 'X-Stowage-Console': '1' }

/**
 * Runs a GraphQL operation. With `isAnonymous` it is sent without the cookie, because the server refuses every request
 * with an ended session, signing in included.
 * @throws ApiError
 */
export async function ask<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  options: { signal?: AbortSignal; isAnonymous?: boolean } = {},
): Promise<Result> {
  const response = await send(urlOf('/graphql'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: print(document), variables }),
    ...(options.signal && { signal: options.signal }),
    ...(options.isAnonymous && { credentials: 'omit' }),
  })
  const body: unknown = await response.json().catch(() => null)
  if (!isObject(body) || !isObject(body.data) || firstError(body)) throw toError(response, body)
  return body.data as Result
}

/** Sends a request with the session of this browser. @throws ApiError if no response arrives */
export async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, headers: { ...consoleHeaders, ...init.headers } })
  } catch (cause) {
    if (init.signal?.aborted) throw cause
    throw networkError(cause)
  }
}

export function networkError(cause: unknown): ApiError {
  const message = 'The server cannot be reached. Check your connection, then try again.'
  return new ApiError(message, { status: 0, reason: 'NETWORK', cause })
}

/** Reads an error from a response of the server or of a proxy. `body` is the parsed JSON, or null. */
export function toError(response: { status: number }, body: unknown): ApiError {
  const error = isObject(body) ? firstError(body) : null
  if (!error) {
    const message = `The server, or a proxy in front of it, returned status ${response.status}. Try again later.`
    return new ApiError(message, { status: response.status, reason: 'UNKNOWN' })
  }
  const { reason, requestId, properties } = isObject(error.extensions) ? error.extensions : {}
  return new ApiError(String(error.message), {
    status: response.status,
    reason: typeof reason === 'string' ? reason : 'UNKNOWN',
    requestId: typeof requestId === 'string' ? requestId : null,
    properties: Array.isArray(properties) ? properties.map(String) : [],
  })
}

function firstError(body: Record<string, unknown>): Record<string, unknown> | null {
  const [error] = Array.isArray(body.errors) ? body.errors : []
  return isObject(error) ? error : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

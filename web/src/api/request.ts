import type { TadaDocumentNode } from 'gql.tada'
import { print } from './print.ts'

/** What the server says of a failure, in its own words. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** HTTP; 0 where no answer came. */
  readonly status: number
  /** Stable, such as OUTSIDE_BASE_PATH. */
  readonly reason: string
  readonly requestId: string | null
  /** Of what was sent, those that did not fit. */
  readonly properties: readonly string[]

  constructor(
    message: string,
    facts: {
      status: number
      reason: string
      requestId?: string | null
      properties?: readonly string[]
      cause?: unknown
    },
  ) {
    super(message, { cause: facts.cause })
    this.status = facts.status
    this.reason = facts.reason
    this.requestId = facts.requestId ?? null
    this.properties = facts.properties ?? []
  }
}

/** The server takes the cookie only beside it: see src/console/session.ts. */
export const consoleHeaders = { 'X-Stowage-Console': '1' }

/**
 * As a visitor it goes without the cookie: a session that has ended would keep what needs none away, signing in included.
 * @throws ApiError
 */
export async function ask<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  options: { signal?: AbortSignal; token?: string; asVisitor?: boolean } = {},
): Promise<Result> {
  const answer = await send('/graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(options.token !== undefined && { Authorization: `Bearer ${options.token}` }),
    },
    body: JSON.stringify({ query: print(document), variables }),
    ...(options.signal && { signal: options.signal }),
    ...(options.asVisitor && { credentials: 'omit' }),
  })
  const body: unknown = await answer.json().catch(() => null)
  if (!isObject(body) || !isObject(body.data) || firstError(body)) throw toError(answer, body)
  return body.data as Result
}

/** Any call to the server, with the session of this browser. @throws ApiError where no answer comes */
export async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, headers: { ...consoleHeaders, ...init.headers } })
  } catch (cause) {
    if (init.signal?.aborted) throw cause
    throw new ApiError('The server cannot be reached: check the network, then try again.', {
      status: 0,
      reason: 'NETWORK',
      cause,
    })
  }
}

export function toError(answer: { status: number }, body: unknown): ApiError {
  const error = isObject(body) ? firstError(body) : null
  if (!error)
    return new ApiError(
      `The server, or what stands before it, answered with status ${answer.status}: try again later.`,
      {
        status: answer.status,
        reason: 'UNKNOWN',
      },
    )
  const { reason, requestId, properties } = isObject(error.extensions) ? error.extensions : {}
  return new ApiError(String(error.message), {
    status: answer.status,
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

export interface StowageErrorDetails {
  /** A class of errors, such as `FORBIDDEN`. `NETWORK` if no response of the server arrived. */
  code: string
  /** The exact error, such as `OUTSIDE_BASE_PATH`. It never changes; the message can. */
  reason: string
  /** The HTTP status. Default: 0, because no response arrived. */
  status?: number
  /** Whether the same request can succeed later. Default: false. */
  retryable?: boolean
  /** Milliseconds to wait before a retry, if the server says it. */
  retryAfterMs?: number | null
  /** The id of the request in the log of the server. */
  requestId?: string | null
  /** The path of the GraphQL field that failed. */
  path?: readonly (string | number)[]
  /** All that the server reports besides the message, such as `properties`: the invalid properties of the input. */
  extensions?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** Every failure of this client, except for an abort, which throws the reason of its signal. */
export class StowageError extends Error implements Required<Omit<StowageErrorDetails, 'cause'>> {
  override name = 'StowageError'
  readonly code: string
  readonly reason: string
  readonly status: number
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly requestId: string | null
  readonly path: readonly (string | number)[]
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(message: string, details: StowageErrorDetails) {
    super(message, { cause: details.cause })
    this.code = details.code
    this.reason = details.reason
    this.status = details.status ?? 0
    this.retryable = details.retryable ?? false
    this.retryAfterMs = details.retryAfterMs ?? null
    this.requestId = details.requestId ?? null
    this.path = details.path ?? []
    this.extensions = details.extensions ?? {}
  }
}

/** An error without a response of the server. */
export function networkError(message: string, cause?: unknown): StowageError {
  return new StowageError(message, { code: 'NETWORK', reason: 'NETWORK', retryable: true, cause })
}

/** An error of this client: a response that it cannot use. */
export function invalidResponse(
  message: string,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
): StowageError {
  const requestId = headers.get('x-request-id')
  return new StowageError(message, { code: 'INVALID_RESPONSE', reason: 'INVALID_RESPONSE', status, requestId })
}

/** Reads the first error of a response. A proxy in front of the server may have sent a response of another form. */
export function errorOf(response: Pick<Response, 'status' | 'headers'>, body: unknown): StowageError {
  const { status, headers } = response
  const first = isObject(body) && Array.isArray(body.errors) ? body.errors[0] : undefined
  if (!isObject(first)) {
    return new StowageError(`The server, or a proxy in front of it, returned the status ${status}.`, {
      code: 'HTTP',
      reason: `HTTP_${status}`,
      status,
      retryable: [429, 502, 503, 504].includes(status),
      retryAfterMs: secondsOf(headers),
      requestId: headers.get('x-request-id'),
    })
  }
  const extensions = isObject(first.extensions) ? first.extensions : {}
  const { retryAfterMs } = extensions
  return new StowageError(String(first.message), {
    code: String(extensions.code ?? 'UNKNOWN'),
    reason: String(extensions.reason ?? 'UNKNOWN'),
    status,
    retryable: extensions.retryable === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : secondsOf(headers),
    requestId: typeof extensions.requestId === 'string' ? extensions.requestId : headers.get('x-request-id'),
    path: Array.isArray(first.path) ? first.path : [],
    extensions,
  })
}

/** Reads Retry-After as milliseconds (RFC 9110, section 10.2.3). Stowage sends seconds only. */
function secondsOf(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : null
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** An error of Microsoft Graph (learn.microsoft.com/graph/errors). */
export class GraphError extends Error {
  readonly status: number
  readonly body: object
  readonly headers: Record<string, string>

  /** @param reason the code, and perhaps that of the inner error: `invalidRequest/pathIsTooLong` */
  constructor(status: number, reason: string, headers: Record<string, string> = {}) {
    super(reason)
    const [code, inner] = reason.split('/')
    const innerError = {
      ...(inner !== undefined && { code: inner }),
      'request-id': 'fake',
      date: '2026-01-01T00:00:00',
    }
    this.status = status
    this.body = { error: { code, message: `${reason} (fake)`, innerError } }
    this.headers = headers
  }
}

export const notFound = () => new GraphError(404, 'itemNotFound')
export const taken = () => new GraphError(409, 'nameAlreadyExists')
export const invalid = (inner = '') => new GraphError(400, inner === '' ? 'invalidRequest' : `invalidRequest/${inner}`)

const statuses: Record<string, number> = {
  activityLimitReached: 429,
  serviceNotAvailable: 503,
  generalException: 500,
  quotaLimitReached: 507,
  unauthenticated: 401,
  resourceModified: 412,
  nameAlreadyExists: 409,
  itemNotFound: 404,
  invalidRequest: 400,
}

/** The errors for faults on demand. */
export function errorOf(reason: string, status?: number, headers: Record<string, string> = {}): GraphError {
  return new GraphError(status ?? statuses[reason.split('/')[0] ?? ''] ?? 403, reason, headers)
}

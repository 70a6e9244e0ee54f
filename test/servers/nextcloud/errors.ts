import type { ServerResponse } from 'node:http'

/** The statuses of the exceptions of sabre/dav (lib/DAV/Exception), with which Nextcloud and ownCloud are built. */
const sabre = {
  BadRequest: 400,
  NotAuthenticated: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  PreconditionFailed: 412,
  UnsupportedMediaType: 415,
  RequestedRangeNotSatisfiable: 416,
  ServiceUnavailable: 503,
  InsufficientStorage: 507,
} as const

/** The statuses of the vendors' own exceptions (apps/dav/lib/Connector/Sabre/Exception). */
const own = { InvalidPath: 400, FileLocked: 423, TooManyRequests: 429 } as const

export class DavError extends Error {
  readonly status: number
  /** The name of the exception; null if a proxy in front of the server responds. */
  readonly exception: string | null
  readonly headers: Record<string, string>

  constructor(status: number, exception: string | null, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.exception = exception
    this.headers = headers
  }
}

export function refused(name: keyof typeof sabre, message: string, headers: Record<string, string> = {}): DavError {
  return new DavError(sabre[name], `Sabre\\DAV\\Exception\\${name}`, message, headers)
}

export function refusedByVendor(
  name: keyof typeof own,
  message: string,
  headers: Record<string, string> = {},
): DavError {
  return new DavError(own[name], `OCA\\DAV\\Connector\\Sabre\\Exception\\${name}`, message, headers)
}

/** An exception that no code expects. */
export const failure = (message: string) => new DavError(500, 'OCP\\Files\\GenericFileException', message)

/** The errors for faults on demand. Other reasons are answers of a proxy. */
export function errorOf(reason: string, status = 502, headers: Record<string, string> = {}): DavError {
  if (reason === 'maintenance') return refused('ServiceUnavailable', 'System in maintenance mode.', headers)
  if (reason === 'rate limit') return refusedByVendor('TooManyRequests', 'Too many requests', headers)
  if (reason === 'locked') return refusedByVendor('FileLocked', '"file" is locked', headers)
  if (reason === 'full') return refused('InsufficientStorage', 'Insufficient space', headers)
  if (reason === 'failure') return failure('Could not write file contents')
  return new DavError(status, null, reason, headers)
}

export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const { status, exception, message, headers } = error instanceof DavError ? error : failure(String(error))
  const type = exception === null ? 'text/html' : 'application/xml; charset=utf-8'
  const body =
    exception === null
      ? `<html><body><h1>${message}</h1></body></html>`
      : `<?xml version="1.0" encoding="utf-8"?>
<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">
  <s:exception>${exception}</s:exception>
  <s:message>${escapeXml(message)}</s:message>${exception.endsWith('InvalidSyncToken') ? '\n  <d:valid-sync-token/>' : ''}
</d:error>
`
  response.writeHead(status, { 'content-type': type, ...headers }).end(body)
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
}

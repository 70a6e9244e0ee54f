/** Errors of WebDAV: statuses that depend on the method, and preconditions in XML (RFC 4918, section 16). */
import { AppError, type Reason } from '../../errors.ts'
import type { ErrorResponse } from '../../http/errors.ts'
import { escapeXml, xmlDeclaration } from '../../http/xml.ts'

export const challenge = 'Basic realm="Stowage", charset="UTF-8"'
export const xmlType = 'application/xml; charset=utf-8'

class DavError extends AppError {
  override name = 'DavError'
  /** The status of the response. For the log, `status` says whether the server failed. */
  readonly davStatus: number
  /** XML about the precondition that failed. */
  readonly precondition: string

  constructor(status: number, reason: Reason, message: string | undefined, precondition: string, cause: unknown) {
    super(reason, message, { cause })
    this.davStatus = status
    this.precondition = precondition
  }
}

/** @param details.precondition XML for the element `error` */
export function davError(
  status: number,
  reason: Reason,
  message?: string,
  { precondition = '', cause }: { precondition?: string; cause?: unknown } = {},
): AppError {
  return new DavError(status, reason, message, precondition, cause)
}

/** Returns a function that gives errors with some reasons another status. */
export function withStatus(statuses: Partial<Record<Reason, number>>): (error: unknown) => never {
  return error => {
    const status = error instanceof AppError ? statuses[error.reason] : undefined
    if (status === undefined || !(error instanceof AppError) || error instanceof DavError) throw error
    throw davError(status, error.reason, error.message, { cause: error })
  }
}

/** The statuses of reasons that are other ones in WebDAV than in REST. */
const statuses: Partial<Record<Reason, number>> = {
  NOT_A_FOLDER: 404,
  NOT_A_FILE: 405,
  ROOT_IS_FIXED: 403,
  INTO_ITSELF: 403,
}

/** XML about what failed: for a quota, RFC 4331, section 6. */
const preconditions: Partial<Record<Reason, string>> = { QUOTA_EXCEEDED: '<D:quota-not-exceeded/>' }

/** The namespace of `exception` and `message` is that of sabre/dav, whose messages many clients show. */
export function formatError(error: AppError): ErrorResponse {
  const isOwn = error instanceof DavError
  const precondition = isOwn ? error.precondition : (preconditions[error.reason] ?? '')
  return {
    status: isOwn ? error.davStatus : (statuses[error.reason] ?? error.status),
    headers: {
      'Content-Type': xmlType,
      ...(error.status === 401 && { 'WWW-Authenticate': challenge }),
    },
    body: `${xmlDeclaration}<D:error xmlns:D="DAV:" xmlns:s="http://sabredav.org/ns">${precondition}<s:exception>${error.reason}</s:exception><s:message>${escapeXml(error.message)}</s:message></D:error>\n`,
  }
}

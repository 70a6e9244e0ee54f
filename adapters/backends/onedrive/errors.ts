import { RequestFailure, type Vendor } from '../../bases/cloud/client.ts'
import { property } from '../../bases/cloud/errors.ts'
import type { StorageErrorCode } from '../../contract.ts'

const denied = 'The Microsoft account has no permission for this: check its access to the file or folder in OneDrive.'
const badName = 'OneDrive cannot store this name: choose another.'
const tooMany = 'The OneDrive library has reached its maximum number of entries: delete some.'
const full = 'The OneDrive is full: free some space or buy more.'
const locked = 'Somebody has locked or checked out the file: ask them to close it, and try again.'
const ended = 'The consent for OneDrive was withdrawn or has expired: connect it again.'

/** Keys are error codes (learn.microsoft.com/graph/errors, .../onedrive/developer/rest-api/concepts/errors) or statuses. */
const meanings: Record<string, readonly [StorageErrorCode, string]> = {
  accessDenied: ['PERMISSION_DENIED', denied],
  accessRestricted: ['PERMISSION_DENIED', 'The owner has restricted access to this file.'],
  notAllowed: ['PERMISSION_DENIED', 'OneDrive does not allow this here.'],
  notSupported: ['PERMISSION_DENIED', 'OneDrive does not support this here.'],
  malwareDetected: ['PERMISSION_DENIED', 'OneDrive considers this file harmful and blocks it.'],
  virusSuspicious: ['PERMISSION_DENIED', 'OneDrive considers this file harmful and blocks it.'],
  resourceLocked: ['IN_USE', locked],
  lockMismatch: ['IN_USE', locked],
  itemNotFound: ['NOT_FOUND', 'There is nothing at this path.'],
  nameAlreadyExists: ['ALREADY_EXISTS', 'There is something at this path already.'],
  resourceModified: ['UNAVAILABLE', 'The entry was changed at the same moment: try again.'],
  invalidRange: ['UNAVAILABLE', 'OneDrive has another part of the upload than expected: try again.'],
  fragmentOverlap: ['UNAVAILABLE', 'OneDrive has another part of the upload than expected: try again.'],
  resyncRequired: ['UNAVAILABLE', 'The cursor has expired: list the folder from its start.'],
  invalidRequest: ['INVALID_PATH', badName],
  nameContainsInvalidCharacters: ['INVALID_PATH', badName],
  pathIsTooLong: ['INVALID_PATH', 'This path is too long for OneDrive: use shorter names.'],
  maxFolderDepthExceeded: ['INVALID_PATH', 'OneDrive cannot nest folders that deep.'],
  quotaLimitReached: ['QUOTA_EXCEEDED', full],
  insufficientStorage: ['QUOTA_EXCEEDED', full],
  childItemCountExceeded: ['QUOTA_EXCEEDED', tooMany],
  maxDocumentCountExceeded: ['QUOTA_EXCEEDED', tooMany],
  maxFolderCountExceeded: ['QUOTA_EXCEEDED', tooMany],
  maxItemCountExceeded: ['QUOTA_EXCEEDED', tooMany],
  maxFileSizeExceeded: ['QUOTA_EXCEEDED', 'OneDrive stores files of at most 250 GB.'],
  // OAuth (learn.microsoft.com/entra/identity-platform/reference-error-codes)
  invalid_grant: ['NEEDS_RECONNECT', ended],
  interaction_required: ['NEEDS_RECONNECT', ended],
  consent_required: ['NEEDS_RECONNECT', ended],
  login_required: ['NEEDS_RECONNECT', ended],
  invalid_client: [
    'UNAUTHORIZED',
    'Microsoft does not know this application or its secret, or the secret has expired.',
  ],
  unauthorized_client: ['UNAUTHORIZED', 'Microsoft does not allow this application here: check its account types.'],
  invalid_resource: ['UNAUTHORIZED', 'The application has no permission for Microsoft Graph: add it in Entra.'],
  '401': ['UNAUTHORIZED', 'Microsoft refuses the credentials: check the application, and connect again.'],
  '403': ['PERMISSION_DENIED', denied],
  '404': ['NOT_FOUND', 'There is nothing at this path.'],
  '412': ['UNAVAILABLE', 'The entry was changed at the same moment: try again.'],
  '413': ['QUOTA_EXCEEDED', 'OneDrive stores files of at most 250 GB.'],
  '416': ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
  '423': ['IN_USE', locked],
  '507': ['QUOTA_EXCEEDED', full],
}

const throttled = /\b(?:activityLimitReached|throttledRequest|threadLimitExceeded)$/

export const onedrive: Vendor = {
  name: 'OneDrive',
  reasonOf,
  // 509 is a limit of bandwidth.
  isRateLimit: ({ status, reason }) => status === 429 || status === 509 || throttled.test(reason ?? ''),
  meaningOf({ status, reason = '' }) {
    // The last code is the most specific one.
    const codes = reason.split('/').toReversed()
    return [...codes, String(status)].map(code => meanings[code]).find(meaning => meaning !== undefined)
  },
}

/** Joins the codes of an error and its inner errors: `invalidRequest/pathIsTooLong`. An error of OAuth is a text. */
function reasonOf(body: unknown): string | undefined {
  const error = property(body, 'error')
  if (typeof error === 'string') return error
  const codes: string[] = []
  for (
    let value = error;
    value !== undefined && codes.length < 5;
    value = property(value, 'innerError') ?? property(value, 'innererror')
  ) {
    const code = property(value, 'code')
    if (typeof code === 'string') codes.push(code)
  }
  return codes.length > 0 ? codes.join('/') : undefined
}

/** Returns true for a refusal with this status. */
export function isRefused(error: unknown, ...statuses: number[]): error is RequestFailure {
  return error instanceof RequestFailure && statuses.includes(error.failure.status ?? 0)
}

/** Returns true if there is an entry of this name. */
export function isTaken(error: unknown): error is RequestFailure {
  return error instanceof RequestFailure && (error.failure.reason?.split('/').includes('nameAlreadyExists') ?? false)
}

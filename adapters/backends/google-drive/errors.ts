import type { Vendor } from '../../bases/cloud/client.ts'
import { causeForLog, type Failure, property } from '../../bases/cloud/errors.ts'
import { parseRetryAfter } from '../../bases/retry.ts'
import { StorageError, type StorageErrorCode } from '../../contract.ts'

/** Describes an error of Google's own client. */
export function failureOf(error: unknown): Failure {
  const response = property(error, 'response')
  const code = property(response, 'status')
  const status = code === undefined ? undefined : Number(code)
  const data = property(response, 'data')
  const reason = reasonOf(typeof data === 'string' ? parse(data) : data)
  return {
    status,
    reason,
    retryAfterMs: retryAfterOf(property(response, 'headers')),
    cause: causeForLog(error, status, reason),
  }
}

/** `{error: {errors: [{reason}]}}` of the Drive API, `{error: 'invalid_grant'}` of OAuth. */
function reasonOf(body: unknown): string | undefined {
  const error = property(body, 'error')
  if (typeof error === 'string') return error
  const errors = property(error, 'errors')
  const reason = Array.isArray(errors) ? property(errors[0], 'reason') : undefined
  return typeof reason === 'string' ? reason : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The client's Headers class is not the global one. */
function retryAfterOf(headers: unknown): number | undefined {
  const get = property(headers, 'get')
  return typeof get === 'function' ? parseRetryAfter(get.call(headers, 'retry-after')) : undefined
}

const denied = 'The Google account has no permission for this: check its access to the file or folder in Google Drive.'
const full =
  'The storage of the Google account is full: free some space or buy more. (A service account can only store in shared drives.)'

/** Keys are reasons (developers.google.com/workspace/drive/api/guides/handle-errors) or statuses. */
const meanings: Record<string, readonly [StorageErrorCode, string]> = {
  storageQuotaExceeded: ['QUOTA_EXCEEDED', full],
  teamDriveFileLimitExceeded: [
    'QUOTA_EXCEEDED',
    'The shared drive has reached its maximum number of files: delete some.',
  ],
  numChildrenInNonRootLimitExceeded: [
    'QUOTA_EXCEEDED',
    'The folder has reached its maximum number of files: use another.',
  ],
  teamDriveHierarchyTooDeep: ['INVALID_PATH', 'Google Drive cannot nest folders that deep.'],
  dailyLimitExceeded: ['RATE_LIMITED', 'The Google Cloud project has used up its requests for today.'],
  downloadQuotaExceeded: ['RATE_LIMITED', 'The file was downloaded too often: Google allows it again within a day.'],
  activeItemCreationLimitExceeded: [
    'QUOTA_EXCEEDED',
    'The account has reached its maximum number of files: delete some.',
  ],
  exportSizeLimitExceeded: [
    'PERMISSION_DENIED',
    'Google exports documents of at most 10 MB, and this one is larger: open it in Drive.',
  ],
  cannotDownloadAbusiveFile: ['PERMISSION_DENIED', 'Google considers this file harmful and blocks its download.'],
  accessNotConfigured: ['UNAUTHORIZED', 'The Drive API is not enabled in the Google Cloud project: enable it there.'],
  insufficientPermissions: ['NEEDS_RECONNECT', 'The consent does not cover Google Drive: connect again and allow all.'],
  invalid_grant: ['NEEDS_RECONNECT', 'The consent for Google Drive was withdrawn or has expired: connect it again.'],
  invalid_client: ['UNAUTHORIZED', 'Google does not know this OAuth client or its secret: check both.'],
  unauthorized_client: [
    'UNAUTHORIZED',
    'This OAuth client is not allowed to request consent: check its type and redirect address.',
  ],
  redirect_uri_mismatch: ['UNAUTHORIZED', 'The OAuth client lacks the redirect address of this server: add it there.'],
  '401': ['UNAUTHORIZED', 'Google refuses the credentials: check them, and connect again.'],
  '403': ['PERMISSION_DENIED', denied],
  '404': ['NOT_FOUND', 'There is nothing at this path.'],
  '416': ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
}

export const google: Vendor = {
  name: 'Google Drive',
  reasonOf,
  isRateLimit: ({ status, reason }) =>
    status === 429 || (status === 403 && (reason === 'userRateLimitExceeded' || reason === 'rateLimitExceeded')),
  meaningOf: ({ status, reason }) => meanings[reason ?? ''] ?? meanings[String(status)],
}

export const notReplaceable = () =>
  new StorageError('PERMISSION_DENIED', 'A Google document cannot be replaced by a file: choose another name.')

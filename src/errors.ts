/**
 * All reasons for errors. Clients rely on the names: they never change. `code` groups the reasons for GraphQL clients, `status`
 * is the HTTP status of the REST endpoints, and `meaning` is the message unless the error has its own.
 */
export const reasons = {
  CREDENTIAL_REQUIRED: reason('UNAUTHENTICATED', 401, 'The operation requires a credential, and the request has none.'),
  INVALID_CREDENTIAL: reason('UNAUTHENTICATED', 401, 'The credential is malformed or unknown.'),
  KEY_EXPIRED: reason('UNAUTHENTICATED', 401, 'The API key has reached its expiry date.'),
  KEY_REVOKED: reason('UNAUTHENTICATED', 401, 'The API key was revoked.'),
  TOKEN_EXPIRED: reason('UNAUTHENTICATED', 401, 'The access token of the application has expired: refresh it.'),
  SESSION_ENDED: reason('UNAUTHENTICATED', 401, 'The session has expired or was ended.'),
  WRONG_EMAIL_OR_PASSWORD: reason('UNAUTHENTICATED', 401, 'No account has this email and this password.'),
  ACCOUNT_DEACTIVATED: reason('UNAUTHENTICATED', 401, 'The account is deactivated: ask an administrator.'),
  WRONG_CODE: reason('UNAUTHENTICATED', 401, 'The code is wrong, has expired or was used already.'),
  WRONG_PASSKEY: reason(
    'UNAUTHENTICATED',
    401,
    'The passkey is unknown here, or its answer does not fit the question.',
  ),
  SINGLE_SIGN_ON_REQUIRED: reason(
    'FORBIDDEN',
    403,
    'This workspace permits passwords and passkeys for some owners only: sign in with single sign-on.',
  ),
  SIGN_IN_REFUSED: reason('UNAUTHENTICATED', 401, 'The issuer did not confirm who you are: begin again.'),
  NOT_LINKED: reason(
    'UNAUTHENTICATED',
    401,
    'No account is linked with this identity. Sign in with your password, and link it in your profile.',
  ),
  LINK_EXPIRED: reason(
    'UNAUTHENTICATED',
    401,
    'The download link has expired, or the credential that created it is no longer valid.',
  ),

  SHARE_ENDED: reason(
    'UNAUTHENTICATED',
    401,
    'The share link was revoked or has expired, or the person who made it lost access.',
  ),
  SHARE_PASSWORD_REQUIRED: reason('UNAUTHENTICATED', 401, 'The share link requires its password.'),
  WRONG_SHARE_PASSWORD: reason('UNAUTHENTICATED', 401, 'The password of the share link is wrong.'),

  SCOPE_REQUIRED: reason('FORBIDDEN', 403, 'The credential lacks the scope that the operation requires.'),
  PROVIDER_NOT_ALLOWED: reason('FORBIDDEN', 403, 'The credential is not allowed to use this provider.'),
  OUTSIDE_BASE_PATH: reason('FORBIDDEN', 403, "The path is outside the credential's base path."),
  SECOND_FACTOR_REQUIRED: reason(
    'FORBIDDEN',
    403,
    'The password alone is not enough: give a code or a passkey, or set one up.',
  ),
  CONFIRMATION_REQUIRED: reason(
    'FORBIDDEN',
    403,
    'The change requires that you confirm who you are: use confirmIdentity, and repeat it.',
  ),
  SESSION_REQUIRED: reason('FORBIDDEN', 403, 'The operation requires a session, or an unrestricted admin key.'),
  ORIGIN_NOT_ALLOWED: reason('FORBIDDEN', 403, 'Pages of this origin may not call the URL from a browser.'),
  EXCEEDS_OWN_REACH: reason('FORBIDDEN', 403, 'The request would grant more access than its credential has.'),
  OWN_MEMBERSHIP: reason('FORBIDDEN', 403, 'Nobody can change their own role or access.'),
  LAST_OWNER: reason('FORBIDDEN', 403, 'The workspace must keep at least one owner.'),
  REGISTRATION_CLOSED: reason('FORBIDDEN', 403, 'The workspace accepts no new members, or only people with an invite.'),
  BACK_END_REFUSED: reason('FORBIDDEN', 403, 'The back end denies the provider access to this path.'),
  TOO_MANY_UPLOADS: reason('FORBIDDEN', 429, 'The user has too many unfinished uploads.', true),
  TOO_MANY_JOBS: reason('FORBIDDEN', 403, 'The user has too many jobs that have not ended.'),
  TOO_MANY_SCHEDULES: reason('FORBIDDEN', 403, 'The user has too many schedules.'),
  TOO_MANY_WEBHOOKS: reason('FORBIDDEN', 403, 'The workspace has too many webhooks.'),
  TOO_MANY_STARS: reason('FORBIDDEN', 403, 'The member has given too many entries a star.'),
  TOO_MANY_COMMENTS: reason('FORBIDDEN', 403, 'The entry or the member has too many comments.'),
  TOO_MANY_TAGS: reason('FORBIDDEN', 403, 'The entry or the workspace has too many tags.'),
  TOO_MANY_HOLDS: reason('FORBIDDEN', 403, 'The provider has too many holds.'),
  ON_HOLD: reason('FORBIDDEN', 403, 'The entry, a folder around it or an entry below it is on hold.'),
  TOO_MANY_LOCKS: reason('FORBIDDEN', 403, 'The member has too many WebDAV locks.'),
  TOO_MANY_KEYS: reason('FORBIDDEN', 403, 'The member has too many active API keys.'),
  TOO_MANY_PASSKEYS: reason('FORBIDDEN', 403, 'The member has too many passkeys.'),
  TOO_MANY_APPROVALS: reason('FORBIDDEN', 403, 'Too many calls of the member wait for approval.'),
  APPROVAL_PENDING: reason(
    'FORBIDDEN',
    403,
    'A person has to approve this in the console: call again with the same arguments.',
    true,
  ),
  APPROVAL_REFUSED: reason('FORBIDDEN', 403, 'A person has refused this call.'),
  TOO_MANY_GROUPS: reason('FORBIDDEN', 403, 'There are too many groups, or too many members in a group.'),
  TOO_MANY_SERVICE_ACCOUNTS: reason('FORBIDDEN', 403, 'The workspace has too many service accounts.'),
  TOO_MANY_ISSUERS: reason('FORBIDDEN', 403, 'The workspace has too many issuers of single sign-on.'),
  TOO_MANY_SHARES: reason('FORBIDDEN', 403, 'The member has too many active shares.'),
  DOWNLOADS_USED_UP: reason('FORBIDDEN', 403, 'The share link has reached its limit of downloads.'),
  TOO_MANY_ARCHIVES: reason(
    'FORBIDDEN',
    429,
    'Too many archives are being created for the credential, for the member, or on the server.',
    true,
  ),
  TOO_MANY_SUBSCRIPTIONS: reason(
    'FORBIDDEN',
    429,
    'The credential, the member, or the server has too many open subscriptions.',
    true,
  ),
  RATE_LIMITED: reason('FORBIDDEN', 429, 'Too many requests; try again later.', true),

  NOT_FOUND: reason('NOT_FOUND', 404, 'Nothing exists with this ID, at this path or at this URL.'),

  INVALID_INPUT: reason('BAD_USER_INPUT', 400, 'An argument is missing, malformed or out of range.'),
  INVALID_PATH: reason('BAD_USER_INPUT', 400, 'The path is malformed, or the back end does not support the name.'),
  INVALID_CURSOR: reason('BAD_USER_INPUT', 400, 'The cursor belongs to another list or another credential.'),
  INVALID_CONFIG: reason('BAD_USER_INPUT', 400, 'The configuration does not match the schema of its type.'),
  INVALID_INVITE: reason('BAD_USER_INPUT', 400, 'The invite is unknown, revoked, expired or used.'),
  INVALID_RESET: reason('BAD_USER_INPUT', 400, 'The link is unknown, expired or used: ask for a new one.'),
  INVALID_SETUP_CODE: reason(
    'BAD_USER_INPUT',
    400,
    'The first account requires the setup code that the operator has set.',
  ),
  INVALID_STATE: reason(
    'BAD_USER_INPUT',
    400,
    'The authorization is unknown, expired or already completed, or another browser started it.',
  ),
  AUTHORIZATION_REFUSED: reason('BAD_USER_INPUT', 400, 'The storage service was not given consent.'),
  INVALID_QUERY: reason('BAD_USER_INPUT', 400, 'The GraphQL document is malformed or does not match the schema.'),
  QUERY_TOO_LARGE: reason(
    'BAD_USER_INPUT',
    400,
    'The GraphQL document is too deep, too broad, too long or too costly.',
  ),
  RESPONSE_TOO_LARGE: reason(
    'BAD_USER_INPUT',
    400,
    'The response would be too large: ask for fewer fields or a smaller page.',
  ),
  INTO_ITSELF: reason('BAD_USER_INPUT', 400, 'A folder cannot be moved or copied into itself.'),
  ROOT_IS_FIXED: reason('BAD_USER_INPUT', 400, "A provider's root cannot be moved, renamed, copied over or deleted."),
  NOT_A_FILE: reason('BAD_USER_INPUT', 400, 'The path names a folder, and the operation requires a file.'),
  NOT_A_FOLDER: reason('BAD_USER_INPUT', 400, 'The path names a file, and the operation requires a folder.'),
  NO_THUMBNAIL: reason(
    'BAD_USER_INPUT',
    404,
    'The file has no thumbnail: its type has none, or its content is damaged or too large.',
  ),
  NO_RENDITION: reason(
    'BAD_USER_INPUT',
    404,
    'The file cannot be had as PDF: its type is no office document, its content is damaged or too large, or LibreOffice is missing.',
  ),
  NOT_TEXT: reason('BAD_USER_INPUT', 415, 'The file was requested as text, and is not text in UTF-8.'),
  INCOMPLETE_BODY: reason('BAD_USER_INPUT', 400, 'The body ended before it was complete.', true),
  METHOD_NOT_ALLOWED: reason('BAD_USER_INPUT', 405, 'The URL does not accept this HTTP method.'),
  COPY_ONLY: reason(
    'BAD_USER_INPUT',
    400,
    'The file can be copied there but not moved: copy it, then delete the original.',
  ),
  ALREADY_EXISTS: reason('BAD_USER_INPUT', 409, 'The name is taken.'),
  UPLOAD_UNDER_WAY: reason('BAD_USER_INPUT', 409, 'An upload that has not ended reserves the name.'),
  NOT_EMPTY: reason('BAD_USER_INPUT', 409, 'The folder is not empty.'),
  PART_MISSING: reason(
    'BAD_USER_INPUT',
    400,
    'A part of the upload is missing, or has other bytes than the request requires.',
  ),
  PART_TOO_SMALL: reason(
    'BAD_USER_INPUT',
    400,
    'A part of the upload, other than the last, has fewer bytes than the back end requires.',
  ),
  OFFSET_MISMATCH: reason('BAD_USER_INPUT', 409, 'The upload has another offset: read it with HEAD.', true),
  PRECONDITION_FAILED: reason('BAD_USER_INPUT', 412, 'The file is not the version that the request requires.'),
  TOO_LARGE: reason('BAD_USER_INPUT', 413, 'The body or the file exceeds the size limit.'),
  UNSUPPORTED_MEDIA_TYPE: reason('BAD_USER_INPUT', 415, 'The URL does not accept this Content-Type.'),
  FILE_TYPE_NOT_ALLOWED: reason('BAD_USER_INPUT', 415, 'The share link does not accept files of this type.'),
  RANGE_NOT_SATISFIABLE: reason('BAD_USER_INPUT', 416, 'No requested range lies inside the file.'),
  UPLOAD_LOCKED: reason('BAD_USER_INPUT', 423, 'Another request is using this upload.', true),
  LOCKED: reason('BAD_USER_INPUT', 423, 'Somebody else has locked the entry, or a folder around it.'),
  IN_USE: reason(
    'BAD_USER_INPUT',
    423,
    'Another program has the entry open or has locked it: close it there, or try again later.',
    true,
  ),
  CHECKSUM_MISMATCH: reason('BAD_USER_INPUT', 460, 'The bytes do not match their Upload-Checksum.', true),
  DIGEST_MISMATCH: reason('BAD_USER_INPUT', 422, 'The bytes do not match the digest that was sent with them.', true),
  INFECTED: reason('BAD_USER_INPUT', 422, 'The virus scanner has found something in the file: it was not stored.'),
  IDEMPOTENCY_KEY_REUSED: reason(
    'BAD_USER_INPUT',
    422,
    'The Idempotency-Key was already used for another request: choose a new key.',
  ),
  REQUEST_UNDER_WAY: reason(
    'BAD_USER_INPUT',
    409,
    'A request with this Idempotency-Key is still running: repeat yours to get its response.',
    true,
  ),
  QUOTA_EXCEEDED: reason('BAD_USER_INPUT', 507, 'A quota, or the space of the back end, is exhausted.'),

  INTERNAL: reason('INTERNAL_SERVER_ERROR', 500, 'The server failed: its log has the details under the request ID.'),
  BACK_END_FAULT: reason('INTERNAL_SERVER_ERROR', 502, 'The back end or its adapter returned an invalid result.'),
  DAMAGED: reason(
    'INTERNAL_SERVER_ERROR',
    502,
    'The file has other bytes than were stored, although nothing has written to it.',
  ),
  BACK_END_CREDENTIALS: reason('INTERNAL_SERVER_ERROR', 502, "The back end rejects the provider's credentials."),
  NEEDS_RECONNECT: reason('INTERNAL_SERVER_ERROR', 502, 'An administrator must reconnect the provider.'),
  UNAVAILABLE: reason('INTERNAL_SERVER_ERROR', 503, 'The back end or the database does not respond.', true),
  BACK_END_RATE_LIMITED: reason(
    'INTERNAL_SERVER_ERROR',
    503,
    'The back end limits the rate of requests: try again later.',
    true,
  ),
} as const

export type Reason = keyof typeof reasons

export type ErrorCode = 'UNAUTHENTICATED' | 'FORBIDDEN' | 'NOT_FOUND' | 'BAD_USER_INPUT' | 'INTERNAL_SERVER_ERROR'

function reason(code: ErrorCode, status: number, meaning: string, retryable = false) {
  return { code, status, meaning, retryable }
}

/** An error for the client. `message` is public and says what is wrong and what to do. `cause` appears in the log only. */
export class AppError extends Error {
  override name = 'AppError'
  readonly reason: Reason
  /** Milliseconds to wait before trying again. */
  readonly retryAfterMs: number | undefined
  /** More facts for the client, added to the error's extensions. */
  readonly facts: Readonly<Record<string, unknown>> | undefined

  constructor(
    why: Reason,
    message: string = reasons[why].meaning,
    details: { cause?: unknown; retryAfterMs?: number | undefined; facts?: Record<string, unknown> | undefined } = {},
  ) {
    super(message, { cause: details.cause })
    this.reason = why
    this.retryAfterMs = details.retryAfterMs
    this.facts = details.facts
  }

  get code(): ErrorCode {
    return reasons[this.reason].code
  }

  /** HTTP status. */
  get status(): number {
    return reasons[this.reason].status
  }
}

/** System and PostgreSQL error codes that mean that the database is unavailable. */
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
  '57P01',
  '57P02',
  '57P03',
  '53300',
])

/** PostgreSQL error codes for a NUL character in a text or in JSON. Only text from outside can contain one. */
const unstorableCodes = new Set(['22021', '22P05'])

/** Converts any error to one for the client, with the original as its cause for the log. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (unstorableCodes.has(String(code))) {
    return new AppError('INVALID_INPUT', 'A text contains a NUL character, which the database cannot store.', {
      cause: error,
    })
  }
  // This error of pg's pool has no code.
  const isExhausted = error instanceof Error && error.message === 'timeout exceeded when trying to connect'
  const isUnavailable = isExhausted || unavailableCodes.has(String(code))
  return new AppError(isUnavailable ? 'UNAVAILABLE' : 'INTERNAL', undefined, { cause: error })
}

export interface PublicError {
  message: string
  extensions: {
    code: ErrorCode
    reason: Reason
    retryable: boolean
    retryAfterMs?: number
    requestId: string
    [fact: string]: unknown
  }
}

/** Returns the error as every front end sends it. */
export function publicError(error: AppError, requestId: string): PublicError {
  return {
    message: error.message,
    extensions: {
      ...error.facts,
      code: error.code,
      reason: error.reason,
      retryable: reasons[error.reason].retryable,
      ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
      requestId,
    },
  }
}

/** An error that the operator can fix before the server starts. The message is one sentence that says how. */
export class StartError extends Error {
  override name = 'StartError'
}

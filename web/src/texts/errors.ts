import { catalog, isEnglish, reworded } from './catalog.ts'
import { formatBytes, formatDuration } from './format.ts'

/** An error of the server: of a request, or of a job. */
interface ErrorFacts {
  reason: string
  message: string
  /** Milliseconds. */
  retryAfterMs?: number | null
  extensions?: Readonly<Record<string, unknown>>
}

type Words = string | ((failure: ErrorFacts) => string)

/** The terms of the API that its messages use. Quoted text is a name that a person chose, or `"targetName"`. */
const apiTerms =
  /\b(?:provider|credential|scope|base path|back end|adapter|mutation|query|graphql|header|parameter|argument|conflict behaviou?r|percent-encoding|percent-encoded|segment|bearer|session token|slug|response|content-\w+)s?\b/i
const enumValue = /\b(?:QUEUED|RUNNING|PAUSED|SUCCEEDED|FAILED|CANCELED|SYNC|VIEW|DROP)\b/
const quoted = /"[^"]*"/g
const apiName = /^"(?:[a-z]+[A-Z]\w*|recursive|first|after|conflict)(?:: \w+)?"$/

function usesApiTerms(message: string): boolean {
  const ownWords = message.replaceAll(quoted, '')
  const names = message.match(quoted) ?? []
  return apiTerms.test(ownWords) || enumValue.test(ownWords) || names.some(name => apiName.test(name))
}

/** Returns the message of the server, or `general` if the message uses terms of the API. */
export function plainText<Text extends string | null>(message: string, general: Text): string | Text {
  return usesApiTerms(message) ? general : message
}

/** The server often knows more than the reason, such as a name or a limit, and says it in English. */
function detailed(general: string): Words {
  return reworded(
    general,
    text =>
      ({ message }) =>
        isEnglish ? plainText(message, text) : text,
  )
}

const parts = catalog('errorParts', {
  unknown: detailed('This failed. Reload the page, then try again.'),
  later: (what: string) => `${what} Try again later.`,
  tooLarge: (bytes: number) => `The file is too large. Files here can have up to ${formatBytes(bytes)}.`,
  after: (what: string, seconds: number) => `${what} Try again in ${formatDuration(seconds)}.`,
})

/** Ends with the time to wait, if the server says it. */
function later(what: string): Words {
  return reworded(
    what,
    text =>
      ({ retryAfterMs }) =>
        retryAfterMs ? parts.after(text, retryAfterMs / 1000) : parts.later(text),
  )
}

/** The words of each reason of the server: what happened, and what the person can do. */
export const wordsByReason: Readonly<Record<string, Words>> = catalog('errors', {
  CREDENTIAL_REQUIRED: 'Sign in to continue.',
  INVALID_CREDENTIAL: 'You are no longer signed in. Sign in again.',
  KEY_EXPIRED: 'The API key has expired. Create a new one.',
  KEY_REVOKED: 'The API key was revoked. Create a new one.',
  TOKEN_EXPIRED: 'The access token of the application has expired.',
  SESSION_ENDED: 'Your session has ended. Sign in again.',
  WRONG_EMAIL_OR_PASSWORD: detailed('The email or the password is wrong.'),
  ACCOUNT_DEACTIVATED: 'Your account is deactivated. Ask an administrator.',
  LINK_EXPIRED: 'The download link has expired. Start the download again.',
  SHARE_ENDED: detailed('This share link has ended. Ask the person who sent it for a new one.'),
  WRONG_CODE: 'The code is wrong or was used already. Enter a new one.',
  WRONG_PASSKEY: 'This passkey was not accepted. Try again, or use another way.',
  SIGN_IN_REFUSED: 'The sign-in was not confirmed. Try again.',
  NOT_LINKED: detailed('No account is linked. Sign in with your password, and link the account in your profile.'),
  SHARE_PASSWORD_REQUIRED: 'Enter the password of the share link.',
  WRONG_SHARE_PASSWORD: 'The password of the share link is wrong. Ask the person who sent you the link.',

  SCOPE_REQUIRED: ({ extensions }) => {
    const needed = extensions?.requiredScope
    if (needed === 'admin') return 'Only administrators can do this.'
    return needed === 'write'
      ? 'You cannot change anything here. Ask an administrator for permission to write.'
      : 'You do not have permission to do this. Ask an administrator.'
  },
  PROVIDER_NOT_ALLOWED: 'You have no access to this storage. Ask an administrator.',
  OUTSIDE_BASE_PATH: 'You have no access to this folder. Ask an administrator.',
  SECOND_FACTOR_REQUIRED: 'This needs a second factor. Open Security in the settings to set one up or to enter a code.',
  CONFIRMATION_REQUIRED: 'Confirm that it is you, and try again.',
  SESSION_REQUIRED: 'You can do this only after signing in with your email and password.',
  ORIGIN_NOT_ALLOWED: 'The server does not accept requests from this address. Ask an administrator.',
  EXCEEDS_OWN_REACH: 'You cannot give more access than you have yourself.',
  OWN_MEMBERSHIP: 'You cannot change your own role or access. Ask another administrator.',
  SINGLE_SIGN_ON_REQUIRED: 'Passwords and passkeys are for some owners only. Sign in with single sign-on.',
  LAST_OWNER: detailed('The workspace needs an owner who can sign in. Make somebody else an owner first.'),
  REGISTRATION_CLOSED: 'You need an invite to join this workspace. Ask an administrator.',
  BACK_END_REFUSED: 'The storage denies access to this path. Ask an administrator.',
  TOO_MANY_UPLOADS: 'You have too many unfinished uploads. Wait until some end, or cancel some.',
  TOO_MANY_JOBS: detailed('You have too many unfinished jobs. Wait, or cancel some.'),
  TOO_MANY_SCHEDULES: detailed('You have too many schedules. Delete some first.'),
  TOO_MANY_WEBHOOKS: detailed('The workspace has too many webhooks. Delete some first.'),
  TOO_MANY_LOCKS: detailed('You have locked too many files. Close some in the programs that use them.'),
  TOO_MANY_APPROVALS: 'Too many calls wait for approval.',
  APPROVAL_PENDING: 'This waits for approval.',
  APPROVAL_REFUSED: 'This was refused.',
  TOO_MANY_KEYS: detailed('You have too many API keys. Revoke some first.'),
  TOO_MANY_PASSKEYS: detailed('You have too many passkeys. Remove one first.'),
  TOO_MANY_GROUPS: detailed('There are too many groups, or too many members in a group.'),
  TOO_MANY_SERVICE_ACCOUNTS: detailed('There are too many service accounts. Remove some first.'),
  TOO_MANY_ISSUERS: detailed('There are too many issuers. Remove some first.'),
  TOO_MANY_SHARES: detailed('You have too many shares. Revoke some first.'),
  DOWNLOADS_USED_UP: 'This link has reached its limit of downloads. Ask the person who sent it for a new one.',
  TOO_MANY_ARCHIVES: detailed('Too many archives are being created. Wait until one of them is complete.'),
  TOO_MANY_SUBSCRIPTIONS: later('Too many pages are open.'),
  RATE_LIMITED: later('There were too many requests.'),

  NO_RENDITION: 'The server cannot show this document.',
  NO_THUMBNAIL: 'No preview can be made of this file.',
  NOT_FOUND: detailed('This no longer exists. Reload the page.'),

  INVALID_INPUT: detailed('Some of what you entered is missing or not valid. Check each field.'),
  INVALID_PATH: detailed('The storage does not accept this name. Choose another one.'),
  INVALID_CURSOR: 'The list has changed. Reload the page.',
  // Administrators fill in the settings that this message names.
  INVALID_CONFIG: ({ message }) => message,
  INVALID_INVITE: detailed('The invite has expired or was used or revoked. Ask for a new one.'),
  INVALID_RESET: 'This link has expired or was used. Ask for a new one.',
  INVALID_SETUP_CODE: 'The first account requires the setup code of this server. Ask its operator for the code.',
  INVALID_STATE: 'The authorization has expired or was started in another browser. Start it again.',
  AUTHORIZATION_REFUSED: 'The access to the storage was not authorized. Authorize it again.',
  INVALID_QUERY: 'This page may be outdated. Reload it.',
  QUERY_TOO_LARGE: 'The request is too large. Choose fewer items.',
  RESPONSE_TOO_LARGE: 'The result is too large to show at once. Choose fewer items.',
  INTO_ITSELF: detailed('A folder cannot be moved or copied into itself.'),
  ROOT_IS_FIXED: 'The top folder of a storage cannot be moved, renamed, copied over or deleted.',
  NOT_A_FILE: detailed('This is a folder, not a file.'),
  NOT_A_FOLDER: detailed('This is a file, not a folder.'),
  NOT_TEXT: 'This file is not text. Download it to open it in another program.',
  INCOMPLETE_BODY: 'The connection was interrupted. Try again.',
  METHOD_NOT_ALLOWED: 'This page may be outdated. Reload it.',
  COPY_ONLY: detailed('The file can be copied there but not moved. Copy it, then delete the original.'),
  ALREADY_EXISTS: detailed('This name is taken. Choose another one.'),
  UPLOAD_UNDER_WAY: 'Another upload with this name has not ended yet. Wait until it ends, or choose another name.',
  NOT_EMPTY: detailed('The folder is not empty. Delete its contents first.'),
  PART_MISSING: 'A part of the upload is missing. Start the upload again.',
  PART_TOO_SMALL: 'A part of the upload is too small for the storage. Start the upload again.',
  OFFSET_MISMATCH: 'The upload was interrupted. Resume it.',
  PRECONDITION_FAILED: detailed('Somebody else has changed this. Reload the page, then try again.'),
  TOO_LARGE: reworded('The file is too large.', text => failure => {
    const most = failure.extensions?.maxBytes
    return typeof most === 'number' ? parts.tooLarge(most) : wordsOf(detailed(text), failure)
  }),
  UNSUPPORTED_MEDIA_TYPE: 'The server does not accept this type of content.',
  FILE_TYPE_NOT_ALLOWED: detailed('This link does not accept files of this type.'),
  RANGE_NOT_SATISFIABLE: 'The file has changed. Reload the page.',
  UPLOAD_LOCKED: 'This upload is already running, perhaps in another window. Wait a moment, then try again.',
  ON_HOLD:
    'This is on hold: nobody can change, move or delete it before the hold ends. Its details say when. Until then, work on a copy in another folder.',
  TOO_MANY_STARS: detailed('You have given too many items a star. Remove some stars first.'),
  TOO_MANY_COMMENTS: detailed('There are too many comments. Delete some first.'),
  TOO_MANY_TAGS: detailed('There are too many tags. Remove some first.'),
  TOO_MANY_HOLDS: 'The storage has too many holds. Hold a folder instead of its files.',
  LOCKED: 'Somebody else has this file or folder open and has locked it. Try again later, or ask them to close it.',
  IN_USE: 'Another program has this file or folder open. Close it there, or try again later.',
  DAMAGED: 'The content of the file is damaged. Restore it from a backup or another copy.',
  CHECKSUM_MISMATCH: 'The content was damaged on its way. Upload it again.',
  DIGEST_MISMATCH: 'The content was damaged on its way. Upload it again.',
  IDEMPOTENCY_KEY_REUSED: 'This request was already sent. Reload the page, then try again.',
  REQUEST_UNDER_WAY: 'The server is still working on this. Wait a moment, then try again.',
  INFECTED: detailed('The virus scanner has found something in the file, so it was not stored.'),
  QUOTA_EXCEEDED: 'The storage is full. Delete something, or ask an administrator for more space.',

  INTERNAL: 'The server failed. Try again; if it fails again, give an administrator the request ID from the details.',
  BACK_END_FAULT: 'The storage failed. Try again; if it fails again, tell an administrator.',
  BACK_END_CREDENTIALS: "The storage rejects Stowage's credentials. Ask an administrator to enter new ones.",
  NEEDS_RECONNECT: 'The authorization of this storage has ended. Ask an administrator to connect it again.',
  UNAVAILABLE: reworded(
    'The storage is not available.',
    text => failure => (isEnglish ? plainText(failure.message, null) : null) ?? wordsOf(later(text), failure),
  ),
  BACK_END_RATE_LIMITED: later('The storage accepts no more requests for now.'),
})

function wordsOf(words: Words, failure: ErrorFacts): string {
  return typeof words === 'string' ? words : words(failure)
}

/** Returns the text of a server's error for people. A newer server, or the client itself, can have other reasons. */
export function errorText(failure: ErrorFacts): string {
  return wordsOf(wordsByReason[failure.reason] ?? parts.unknown, failure)
}

import type { Vendor } from '../../bases/cloud/client.ts'
import { type Failure, property } from '../../bases/cloud/errors.ts'
import type { StorageErrorCode } from '../../contract.ts'

const nothing = 'There is nothing at this path.'
const taken = 'There is something at this path already.'
const denied = 'The Dropbox account has no permission for this: check its access to the file or folder in Dropbox.'
const badName = 'Dropbox cannot store this name: choose another.'
const refused = 'Dropbox refuses the credentials: check the app, and connect again.'

/**
 * Keys are tags of Dropbox's errors without their first part, such as `path` or `to`, or statuses
 * (www.dropbox.com/developers/documentation/http/documentation).
 */
const meanings: Record<string, readonly [StorageErrorCode, string]> = {
  // LookupError
  not_found: ['NOT_FOUND', nothing],
  not_file: ['NOT_A_FILE', 'There is a folder at this path.'],
  not_folder: ['NOT_A_DIRECTORY', 'Something on this path is not a folder.'],
  malformed_path: ['INVALID_PATH', badName],
  restricted_content: ['PERMISSION_DENIED', 'Dropbox blocks this file for legal reasons.'],
  unsupported_content_type: ['PERMISSION_DENIED', 'Dropbox does not support this operation for this kind of file.'],
  locked: ['IN_USE', 'Somebody has locked the file in Dropbox: ask them to unlock it.'],
  unsupported_file: ['PERMISSION_DENIED', 'Dropbox has no download for this kind of file: open it in Dropbox.'],
  non_exportable: ['PERMISSION_DENIED', 'Dropbox has no download for this kind of file: open it in Dropbox.'],
  invalid_export_format: ['PERMISSION_DENIED', 'Dropbox has no download for this kind of file: open it in Dropbox.'],
  retry_error: ['UNAVAILABLE', 'Dropbox is still preparing the file for download: try again in a minute.'],
  // WriteError
  conflict: ['ALREADY_EXISTS', taken],
  'conflict/file': ['ALREADY_EXISTS', taken],
  'conflict/folder': ['ALREADY_EXISTS', taken],
  'conflict/file_ancestor': ['NOT_A_DIRECTORY', 'Something on this path is not a folder.'],
  no_write_permission: ['PERMISSION_DENIED', denied],
  access_restricted: ['PERMISSION_DENIED', 'An administrator of the Dropbox team does not allow this.'],
  insufficient_space: ['QUOTA_EXCEEDED', 'The Dropbox account is full: free some space or buy more.'],
  insufficient_quota: ['QUOTA_EXCEEDED', 'The Dropbox account is full: free some space or buy more.'],
  disallowed_name: ['INVALID_PATH', badName],
  team_folder: ['PERMISSION_DENIED', 'Team folders can be moved and deleted only by an administrator, in Dropbox.'],
  operation_suppressed: ['PERMISSION_DENIED', 'Dropbox does not allow this at this path.'],
  encryption_not_supported: [
    'PERMISSION_DENIED',
    'Dropbox encrypts this folder, so only its own apps can write to it.',
  ],
  // RelocationError
  cant_copy_shared_folder: ['PERMISSION_DENIED', 'Dropbox does not copy shared folders: copy their files.'],
  cant_nest_shared_folder: ['PERMISSION_DENIED', 'Dropbox does not allow a shared folder inside another one.'],
  cant_move_shared_folder: ['PERMISSION_DENIED', 'Dropbox does not allow this shared folder to be moved there.'],
  cant_move_into_vault: ['PERMISSION_DENIED', 'Dropbox does not allow this to be moved into the vault.'],
  cant_move_into_family: ['PERMISSION_DENIED', 'Dropbox does not allow this to be moved into the Family Room.'],
  cant_transfer_ownership: ['PERMISSION_DENIED', 'This move would change the owner of files: make it in Dropbox.'],
  cant_move_folder_into_itself: ['INVALID_PATH', 'A folder cannot be moved into itself.'],
  duplicated_or_nested_paths: ['INVALID_PATH', 'A folder cannot be moved into itself.'],
  // Dropbox relocates at most 10,000 entries in one step. The host then moves or copies one by one.
  too_many_files: ['NOT_IN_ONE_STEP', 'Dropbox does not do this in one step for so many files.'],
  internal_error: ['UNAVAILABLE', 'Something failed in Dropbox: try again.'],
  // Upload sessions
  closed: ['NOT_FOUND', 'The upload has ended: begin it again.'],
  incorrect_offset: ['PRECONDITION_FAILED', 'Dropbox has another part of the upload than expected: start it again.'],
  too_large: ['QUOTA_EXCEEDED', 'Dropbox stores files of at most 2 TB.'],
  content_hash_mismatch: ['UNAVAILABLE', 'The bytes changed on their way to Dropbox: try again.'],
  reset: ['UNAVAILABLE', 'The cursor has expired: list the folder from its start.'],
  // AuthError and PathRootError
  missing_scope: [
    'NEEDS_RECONNECT',
    'The Dropbox app lacks a permission: tick it in the App Console, and connect again.',
  ],
  user_suspended: ['UNAUTHORIZED', 'The Dropbox account is suspended: ask the administrator of the team.'],
  invalid_root: ['PERMISSION_DENIED', 'The space of the Dropbox team has changed: try again.'],
  no_permission: ['PERMISSION_DENIED', denied],
  // OAuth
  invalid_grant: ['NEEDS_RECONNECT', 'The consent for Dropbox was withdrawn or has expired: connect it again.'],
  invalid_client: ['UNAUTHORIZED', 'Dropbox does not know this app key or its secret: check both.'],
  unauthorized_client: [
    'UNAUTHORIZED',
    'Dropbox does not allow this app to request consent: check it in the App Console.',
  ],
  '401': ['UNAUTHORIZED', refused],
  '403': ['PERMISSION_DENIED', denied],
  '416': ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
}

/** The first part of a reason, which names the argument that Dropbox refuses. */
const subject = /^(?:path|path_lookup|path_write|from_lookup|from_write|to|lookup_failed)\//

export const dropbox: Vendor = {
  name: 'Dropbox',
  reasonOf,
  isRateLimit: ({ status, reason }) => status === 429 || (reason?.endsWith('too_many_write_operations') ?? false),
  meaningOf({ status, reason = '' }) {
    if (reason === 'not_found' || reason === 'lookup_failed/not_found') return meanings.closed
    const specific = reason.replace(subject, '')
    const [kind = ''] = specific.split('/')
    return meanings[specific] ?? meanings[kind] ?? meanings[String(status)]
  },
}

/**
 * Joins the tags of an error: `path/conflict/file` for `{".tag": "path", "path": {".tag": "conflict", "conflict": {".tag":
 * "file"}}}`. An error of OAuth is a text.
 */
function reasonOf(body: unknown): string | undefined {
  const error = property(body, 'error')
  if (typeof error === 'string') return error
  const tags: string[] = []
  for (let value = error, tag = tagOf(value); tag !== undefined; tag = tagOf(value)) {
    tags.push(tag)
    // The tags of a failed upload are in `reason`.
    value = property(value, tag) ?? property(value, 'reason')
  }
  return tags.length > 0 ? tags.join('/') : undefined
}

function tagOf(value: unknown): string | undefined {
  const tag = property(value, '.tag')
  return typeof tag === 'string' ? tag : undefined
}

/** Returns true for a refusal whose reason ends with these tags. */
export function isRefusedFor(failure: Failure, ...reasons: string[]): boolean {
  return reasons.some(reason => failure.reason === reason || failure.reason?.endsWith(`/${reason}`))
}

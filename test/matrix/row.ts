/** The rows of the matrix: one operation each, with its needs and a way to call it. */
import type { Call } from './api.ts'
import type { Location, Need } from './model.ts'

/**
 * The state of a location before the call. `new`: nothing. `doomed`: a file that the call removes. `replaced`: a file
 * that the call overwrites. `trashed`: a file in the trash, which was there. `versioned`: a file
 * with an earlier version. `source`: a file that may be copied. `same folder`: a free name beside the first location.
 * `provider`: any path of the provider.
 */
export type Purpose =
  | 'provider'
  | 'file'
  | 'folder'
  | 'entry'
  | 'source'
  | 'new'
  | 'same folder'
  | 'doomed'
  | 'replaced'
  | 'trashed'
  | 'versioned'

type Effect = 'names its path' | 'folder made' | 'moved' | 'copied' | 'gone' | 'stored' | 'sent' | 'archived'

export interface Target {
  locations: readonly Location[]
  /** A unique number for each call. */
  n: number
  ids: {
    /** A key of the owner of the credential that the test does not use as a credential. */
    ownKey: string
    login: { email: string; password: string }
    /** The session of the request, if the row ends it. */
    session: string
    /** A member with the role NONE whom the test may remove. */
    spare: string
    bystander: string
    /** A group with the role NONE, of which the bystander is a member. */
    group: string
    /** An invite that grants the role NONE. */
    invite: string
    /** A job of the owner with an error and a failure. */
    job: string
    /** A schedule of the owner with an error and a job. */
    schedule: string
    /** A webhook of the owner with an error and a delivery. */
    webhook: string
    /** The item at the location of the call, if it is in the trash. */
    trashed: string
    /** The version of the file at the location of the call. */
    version: string
    /** An unfinished upload that reserves the location of the call, if the row ends it. */
    upload: string
    /** A share of the owner. */
    share: string
  }
}

export interface Row {
  needs: Need
  /** One purpose for each location, in the order of the arguments. */
  takes?: readonly Purpose[]
  /** The rights that the call grants, which must not exceed those of the credential. */
  gives?: 'what the bystander has' | 'a key that reads' | 'what an owner has'
  /** The thing that a successful call uses up, so that each call needs a new one. */
  spends?:
    | 'session'
    | 'member'
    | 'provider'
    | 'invite'
    | 'group'
    | 'room for a group'
    | 'room for a service account'
    | 'paused job'
    | 'ended job'
    | 'schedule'
    | 'room for a schedule'
    | 'webhook'
    | 'room for a webhook'
    | 'trash'
    | 'upload'
    | 'share'
    | 'room for a share'
  /** The call fails with BAD_USER_INPUT after it is authorized, because a success would be too slow. */
  bounces?: true
  /** The check after a success. */
  effect?: Effect
}

export interface FieldRow extends Row {
  args?(target: Target): Record<string, unknown>
}

export interface RouteRow extends Row {
  /** The action that the audit log records for each call; undefined if only refusals are recorded, or the path implies it. */
  audit?: string
  call(target: Target): Call
}

/** Empty ids, for calls that are refused before an id matters. */
/** Returns the first location of a call as its arguments name it. */
export const at = ({ locations: [location] }: Target) => ({
  providerId: location?.provider ?? '',
  path: location?.path ?? '',
})

/** Returns the id of the version at the first location of a call. */
export function versionId(target: Target): string {
  const { providerId, path } = at(target)
  return Buffer.from(JSON.stringify([target.ids.version, providerId, path])).toString('base64url')
}

export const noIds: Target['ids'] = {
  ownKey: '',
  login: { email: '', password: '' },
  session: '',
  spare: '',
  bystander: '',
  group: '',
  invite: '',
  job: '',
  schedule: '',
  webhook: '',
  trashed: '',
  version: '',
  upload: '',
  share: '',
}

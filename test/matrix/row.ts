/** What a row of the matrix says. */
import type { Call } from './api.ts'
import type { Location, Need } from './model.ts'

/**
 * What stands at a location before the call: `new` nothing yet, `doomed` something that the call takes away, `replaced` a file
 * that another one takes the location of, `source` something that may be copied, `same folder` a free name beside the first
 * location, `provider` any path of it.
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

export type Effect = 'names its path' | 'folder made' | 'moved' | 'copied' | 'gone' | 'stored' | 'sent' | 'archived'

export interface Target {
  locations: readonly Location[]
  /** Never the same twice. */
  n: number
  ids: {
    /** A key of the person behind the credential, which is no credential of this test. */
    ownKey: string
    login: { email: string; password: string }
    /** The one that the request comes with, where the row spends it. */
    session: string
    /** A member whom nobody needs, with the role NONE. */
    spare: string
    bystander: string
    /** One that gives the role NONE. */
    invite: string
  }
}

export interface Row {
  needs: Need
  /** One for each location that it touches, in the order of the arguments. */
  takes?: readonly Purpose[]
  /** What it gives away, which is never more than the giver has. */
  gives?: 'what the bystander has' | 'a key that reads'
  /** What a success uses up, so that each needs a fresh one. */
  spends?: 'session' | 'member' | 'provider' | 'invite'
  /** Made to fail behind the door, with BAD_USER_INPUT, because a success would cost too much here. */
  bounces?: true
  /** What to look for where it succeeded. */
  effect?: Effect
}

export interface FieldRow extends Row {
  args?(target: Target): Record<string, unknown>
}

export interface RouteRow extends Row {
  call(target: Target): Call
}

import { StowageError } from '../../api/client.ts'

/** The unfinished upload that reserves a name. */
export interface NameHolder {
  id: string
  startedAt: string
  /** The time at which the server last stored bytes of it. */
  lastActiveAt: string
  /** Null if the person may not know who it is, or somebody with a share link uploads. */
  by: { id: string; name: string | null; email: string } | null
}

/** Returns whether an upload has the name that the person wants, and no file yet. */
export function isReserved(error: unknown): error is StowageError {
  return error instanceof StowageError && error.reason === 'UPLOAD_UNDER_WAY'
}

/** Returns the upload that can be taken over; null if it is one whose end comes soon. */
export function holderOf(error: unknown): NameHolder | null {
  return isReserved(error) ? ((error.extensions.upload as NameHolder | undefined) ?? null) : null
}

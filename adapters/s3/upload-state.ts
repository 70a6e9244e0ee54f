import { StorageError, type StoragePath } from '../contract.ts'
import type { Upload } from './multipart.ts'

/** An upload as the host stores it. S3 itself lists the parts; here is only how many there are. */
export interface State {
  path: StoragePath
  id: string
  /** Bytes of a part. */
  part: number
  /** Number of the next part. */
  next: number
  /** Bytes received so far. */
  offset: number
  type?: string
}

/** What a write holds, for `abort`. */
export interface Held {
  path: StoragePath
  /** Undefined while the answer that names it is outstanding. */
  id?: string
  /** Milliseconds since 1970 by the clock of S3: uploads of this key that were begun since may be ours, too. */
  since?: number
}

/** @param since where an answer was lost, and with it the id of another upload */
export function heldState(path: StoragePath, upload: Upload | undefined, since?: number): string {
  return JSON.stringify({ path, ...(upload && { id: upload.UploadId }), ...(since && { since }) } satisfies Held)
}

/** @throws NOT_FOUND */
export function parseState(text: string): State {
  const state = parseJson(text)
  if (state && typeof state.path === 'string' && typeof state.id === 'string' && Number.isSafeInteger(state.offset)) {
    return state as State
  }
  throw new StorageError('NOT_FOUND', 'The upload is not known: begin again.')
}

export function parseHeld(text: string): Held | undefined {
  const held = parseJson(text)
  return typeof held?.path === 'string' ? (held as Held) : undefined
}

function parseJson(text: string): Partial<State & Held> | undefined {
  try {
    return Object(JSON.parse(text))
  } catch {
    return undefined
  }
}

import { StorageError, type StoragePath } from '../contract.ts'
import { isUploadId } from './keys.ts'
import type { Staged } from './staging.ts'

/** The state of an upload, which the host stores. Azure itself lists the parts; the state has only their number. */
export interface State {
  path: StoragePath
  /** The id of the staged parts. */
  id: string
  /** Bytes per part. */
  part: number
  /** The number of the next part. */
  next: number
  /** Bytes received so far. */
  offset: number
  type?: string
}

/** Returns the host's record of an unfinished write, with which `abort` can free it after a crash. */
export function formatRecord({ id }: Staged): string {
  return JSON.stringify({ id } satisfies Partial<State>)
}

/** @throws NOT_FOUND */
export function parseState(text: string): State {
  const state = parseJson(text)
  if (state && typeof state.path === 'string' && isId(state.id) && Number.isSafeInteger(state.offset)) {
    return state as State
  }
  throw noUpload()
}

export function noUpload(): StorageError {
  return new StorageError('NOT_FOUND', 'There is no such upload: begin again.')
}

/** Returns the id of the parts that a state or a record names. */
export function parseRecord(text: string): string | undefined {
  const id = parseJson(text)?.id
  return isId(id) ? id : undefined
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && isUploadId(id)
}

function parseJson(text: string): Partial<State> | undefined {
  try {
    return Object(JSON.parse(text))
  } catch {
    return undefined
  }
}

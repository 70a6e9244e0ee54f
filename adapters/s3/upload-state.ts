import { StorageError, type StoragePath } from '../contract.ts'
import type { Upload } from './multipart.ts'

/** The state of an upload, which the host stores. S3 itself lists the parts; the state has only the next part number. */
export interface State {
  path: StoragePath
  id: string
  /** Bytes per part. */
  part: number
  /** The number of the next part. */
  next: number
  /** Bytes received so far. */
  offset: number
  type?: string
  /** The modification time of the file, in milliseconds since 1970. */
  time?: number
}

/** The host's record of an unfinished write, with which `abort` can free it after a crash. */
export interface UploadRecord {
  path: StoragePath
  /** Undefined until the response names the upload. */
  id?: string
  /** Milliseconds since 1970 by the clock of S3. Uploads of this key that began later may be ours, with a lost id. */
  since?: number
}

/** @param since set where a lost response may have named another upload */
export function formatRecord(path: StoragePath, upload: Upload | undefined, since?: number): string {
  return JSON.stringify({
    path,
    ...(upload && { id: upload.UploadId }),
    ...(since && { since }),
  } satisfies UploadRecord)
}

/** @throws NOT_FOUND */
export function parseState(text: string): State {
  const state = parseJson(text)
  if (state && typeof state.path === 'string' && typeof state.id === 'string' && Number.isSafeInteger(state.offset)) {
    return state as State
  }
  throw new StorageError('NOT_FOUND', 'There is no such upload: begin again.')
}

export function parseRecord(text: string): UploadRecord | undefined {
  const record = parseJson(text)
  return typeof record?.path === 'string' ? (record as UploadRecord) : undefined
}

function parseJson(text: string): Partial<State & UploadRecord> | undefined {
  try {
    return Object(JSON.parse(text))
  } catch {
    return undefined
  }
}

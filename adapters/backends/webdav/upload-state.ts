import { randomUUID } from 'node:crypto'
import { StorageError, type StoragePath } from '../../contract.ts'

const idPattern = /^stowage-[0-9a-f-]{36}$/

export interface UploadState {
  /** The name of the upload's folder. */
  id: string
  path: StoragePath
  /** The number of chunks that the server has confirmed, and that of their bytes. */
  chunks: number
  offset: number
  /** Bytes of the file, where they are known. */
  size?: number | undefined
  /** The modification time of the file, in milliseconds. */
  time?: number | undefined
}

export const newUploadId = () => `stowage-${randomUUID()}`

/** Encodes the path in base64url, since JSON could escape it to more than the maximum length of a state. */
export function formatState({ path, ...rest }: UploadState): string {
  return JSON.stringify({ ...rest, path: Buffer.from(path).toString('base64url') })
}

/** Returns the host's record of a write, with which `abort` can free it after a crash. */
export function formatRecord(id: string): string {
  return JSON.stringify({ id })
}

/** @throws NOT_FOUND */
export function parseState(text: string): UploadState {
  const { path, chunks, offset, ...rest } = parse(text)
  if (typeof path !== 'string' || !Number.isSafeInteger(chunks) || !Number.isSafeInteger(offset)) throw uploadNotFound()
  return { ...rest, chunks, offset, path: Buffer.from(path, 'base64url').toString() as StoragePath }
}

/** Returns the id in a state or in a record. @throws NOT_FOUND */
export function parseId(text: string): string {
  return parse(text).id
}

export function uploadNotFound(): StorageError {
  return new StorageError('NOT_FOUND', 'There is no such upload: begin again.')
}

function parse(text: string) {
  try {
    const parsed = JSON.parse(text)
    if (idPattern.test(parsed.id)) return parsed
  } catch {
    // Refuse it below.
  }
  throw uploadNotFound()
}

import { parseJson } from '../../bases/objects/uploads.ts'
import type { StoragePath } from '../../contract.ts'
import type { Upload } from './multipart.ts'

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

export function parseRecord(text: string): UploadRecord | undefined {
  const record: Partial<UploadRecord> = parseJson(text)
  return typeof record.path === 'string' ? (record as UploadRecord) : undefined
}

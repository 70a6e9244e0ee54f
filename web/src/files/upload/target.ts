import { StowageError, stowage, type UploadOptions } from '../../api/client.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { createFolder, takeOverUpload } from '../operations.ts'

/** The target of the files of an upload queue. */
export interface UploadTarget {
  /** Whether the browser remembers unfinished uploads. Their addresses must not be secret. */
  isRemembered: boolean
  /** Resolves with the path of the stored file. @throws StowageError */
  upload(options: UploadOptions): Promise<string>
  /** Deletes an unfinished upload. @throws StowageError */
  discard(url: string): Promise<void>
  /** Ends the unfinished upload that reserves a path. @throws StowageError */
  takeOver(file: StorageLocation, uploadId: string): Promise<void>
  /** @throws StowageError */
  createFolder(folder: StorageLocation): Promise<void>
}

/** The storages of the person who is signed in. */
export const members: UploadTarget = {
  isRemembered: true,
  upload: options => stowage.files.upload(options),
  discard: url => stowage.files.discardUpload(url),
  takeOver: takeOverUpload,
  createFolder,
}

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

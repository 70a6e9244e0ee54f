import { stowage, type UploadOptions } from '../../api/client.ts'
import type { StorageLocation } from '../../api/paths.ts'
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

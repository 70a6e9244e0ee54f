/** The entries that a copy has created, to undo it or to delete its source. */
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from './conflict.ts'

/** The facts that show whether a file was changed or replaced. */
export type FileVersion = Pick<CheckedEntry, 'size' | 'etag' | 'modifiedAt' | 'fileId'>

/** A copied file. */
export interface CopiedFile {
  /** The entry of the source before the copy. */
  seen: CheckedEntry
  /** The entry of the copy. */
  copy: CheckedEntry
}

/** Deletes a file unless it was replaced or changed meanwhile. */
export async function deleteUnchanged(file: WriteLocation, seen: FileVersion, signal: AbortSignal): Promise<void> {
  const now = await statOrNull(file, signal)
  if (now && isUnchanged(now, seen)) await file.delete(signal, now)
}

export function isUnchanged(now: CheckedEntry, seen: FileVersion): boolean {
  if (now.kind !== 'file' || now.size !== seen.size || now.etag !== seen.etag) return false
  // A write does not always return the time of the file.
  if (seen.modifiedAt === null && seen.etag !== null) return true
  return now.modifiedAt?.getTime() === seen.modifiedAt?.getTime()
}

/** Returns false if the folder is not empty. */
export async function deleteIfEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  try {
    await folder.delete(signal)
    return true
  } catch (error) {
    if (error instanceof AppError && error.reason === 'NOT_EMPTY') return false
    throw error
  }
}

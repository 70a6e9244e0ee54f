/** Records what a copy created, to undo it or to delete its source. */
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from './conflict.ts'

/** A copied file. */
export interface CopiedFile {
  /** The entry of the source before the copy. */
  seen: CheckedEntry
  /** The entry of the copy. */
  copy: CheckedEntry
}

/** A copied folder and everything that the copy created in it. */
export interface CopiedFolder {
  /** False if the folder existed before the copy; undoing keeps it. */
  isNew: boolean
  files: CopiedFile[]
  folders: Map<string, CopiedFolder>
}

/** Deletes what a copy created, except what others added or changed meanwhile. */
export async function undoCopy(destination: WriteLocation, made: CopiedFolder, signal: AbortSignal): Promise<void> {
  for (const { copy } of made.files) {
    await deleteUnchanged(destination.child(copy.name), copy, signal)
  }
  for (const [name, folder] of made.folders) await undoCopy(destination.child(name), folder, signal)
  if (made.isNew) await deleteIfEmpty(destination, signal)
}

/** Deletes a file unless it was replaced or changed meanwhile. */
export async function deleteUnchanged(file: WriteLocation, seen: CheckedEntry, signal: AbortSignal): Promise<void> {
  const now = await statOrNull(file, signal)
  if (now && isUnchanged(now, seen)) await file.delete(signal)
}

export function isUnchanged(now: CheckedEntry, seen: CheckedEntry): boolean {
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

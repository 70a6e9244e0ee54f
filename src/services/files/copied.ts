/** What a copy has made: to undo it, or to delete its source. */
import { AppError } from '../../errors.ts'
import type { WriteLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { statOrNull } from './conflict.ts'

/** A file that was copied: what the source was before it was read, and what stands at the target now. */
export interface CopiedFile {
  seen: CheckedEntry
  copy: CheckedEntry
}

/** What a copy of a folder has made, so that exactly that can be undone, or its source be deleted. */
export interface CopiedFolder {
  /** False for a folder that was there, and stays. */
  isNew: boolean
  files: CopiedFile[]
  folders: Map<string, CopiedFolder>
}

/** Removes what a copy has made; what others put or changed there meanwhile stays. */
export async function undoCopy(target: WriteLocation, made: CopiedFolder, signal: AbortSignal): Promise<void> {
  for (const { copy } of made.files) {
    await deleteUnchanged(target.child(copy.name), copy, signal)
  }
  for (const [name, folder] of made.folders) await undoCopy(target.child(name), folder, signal)
  if (made.isNew) await deleteIfEmpty(target, signal)
}

/** Leaves what others have put there meanwhile. */
export async function deleteUnchanged(file: WriteLocation, seen: CheckedEntry, signal: AbortSignal): Promise<void> {
  const now = await statOrNull(file, signal)
  if (now && isUnchanged(now, seen)) await file.delete(signal)
}

export function isUnchanged(now: CheckedEntry, seen: CheckedEntry): boolean {
  if (now.kind !== 'file' || now.size !== seen.size || now.etag !== seen.etag) return false
  return now.modifiedAt?.getTime() === seen.modifiedAt?.getTime()
}

/** False where something is in it. */
export async function deleteIfEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  try {
    await folder.delete(signal)
    return true
  } catch (error) {
    if (error instanceof AppError && error.reason === 'NOT_EMPTY') return false
    throw error
  }
}

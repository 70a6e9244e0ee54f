import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { fault } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { deleteUnchanged } from './copied.ts'

/** Milliseconds to delete a corrupt file. The client may have disconnected, so its signal is not used. */
const undoTimeout = 30_000

/**
 * Compares what a back end stored with what it was sent, by every checksum that both sides have. Deletes a new file that
 * differs. A file that replaced another is kept for inspection.
 * @throws BACK_END_FAULT
 */
export async function requireStored(
  location: WriteLocation,
  stored: CheckedEntry,
  sent: ReadonlyMap<string, string>,
  { isNew }: { isNew: boolean },
): Promise<void> {
  const wrong = differing(stored, sent)
  if (wrong.length === 0) return
  // The checksum error matters more than an error of the deletion.
  if (isNew) await deleteUnchanged(location, stored, AbortSignal.timeout(undoTimeout)).catch(() => {})
  throw fault(`another ${wrong.join(' and ')} than that of the bytes that were sent`)
}

/** Returns the checksums that both sides have and that differ. */
export function differing({ checksums }: CheckedEntry, sent: ReadonlyMap<string, string>): string[] {
  return Object.entries(checksums).flatMap(([name, hex]) => (sent.has(name) && sent.get(name) !== hex ? [name] : []))
}

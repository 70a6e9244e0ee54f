import type { WriteLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { fault } from '../../storage/validate-entry.ts'
import { deleteUnchanged } from './copied.ts'

/** Milliseconds for taking back what is wrong; the client may be gone. */
const undoTimeout = 30_000

/**
 * Compares what a back end says it has stored with what it was sent, by every checksum that both sides have. What is wrong
 * is removed, unless it took the place of something: then it is left to whoever looks into it.
 * @throws BACK_END_FAULT
 */
export async function requireStored(
  location: WriteLocation,
  stored: CheckedEntry,
  sent: ReadonlyMap<string, string>,
  { isNew }: { isNew: boolean },
): Promise<void> {
  const wrong = Object.entries(stored.checksums).filter(([name, hex]) => sent.has(name) && sent.get(name) !== hex)
  if (wrong.length === 0) return
  // What went wrong says more than what may make its removal fail.
  if (isNew) await deleteUnchanged(location, stored, AbortSignal.timeout(undoTimeout)).catch(() => {})
  throw fault(`another ${wrong.map(([name]) => name).join(' and ')} than that of what it was sent`)
}

/** Deletes entries with everything below them. */
import type { TrashItem } from '../../db/trash.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { RunOnFolder } from './folder-work.ts'
import type { TrashBin } from './trash-bin.ts'

export interface Remover {
  trash: TrashBin
  run: RunOnFolder
}

/**
 * Moves an entry to the trash, or deletes it if it has to be permanent or the provider has no trash. A job works on a folder that
 * does not get to the trash in one step.
 * @returns the item in the trash; null for an entry that was deleted
 * @throws the reason why the job failed, and as the back ends
 */
export async function removeEntry(
  { trash, run }: Remover,
  location: WriteLocation,
  entry: CheckedEntry,
  { permanent, signal }: { permanent: boolean; signal: AbortSignal },
): Promise<TrashItem | null> {
  const put = permanent ? 'OFF' : await trash.put(location, entry, { jobId: null, signal })
  if (typeof put === 'object') return put
  if (entry.kind === 'file') {
    await location.delete(signal, entry)
    return null
  }
  const isPermanent = put === 'OFF'
  const jobId = await run({ kind: 'DELETE', source: location, target: null, permanent: isPermanent }, signal)
  return isPermanent ? null : trash.itemOfJob(jobId)
}

/** Makes room for a copy or a move that replaces whatever is at its destination. */
import { formatPath, isWithin } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from './conflict.ts'
import { requireOutside } from './copying.ts'
import { isSameObject } from './moving.ts'
import { type Remover, removeEntry } from './remove.ts'

/**
 * Moves the entry at the destination to the trash, or deletes it, unless both are files, which replace each other in one step. The source must not be in
 * it, not even through another provider.
 * @throws INTO_ITSELF, the reason why the job failed
 */
export async function clearForTree(
  { source, entry, destination }: { source: ReadLocation; entry: CheckedEntry; destination: WriteLocation },
  remover: Remover,
  signal: AbortSignal,
): Promise<void> {
  const existing = await statOrNull(destination, signal)
  if (!existing || (existing.kind === 'file' && entry.kind === 'file') || isSameObject(existing, entry)) return
  if (source.providerId === destination.providerId && isWithin(source.path, destination.path)) {
    throw new AppError(
      'INTO_ITSELF',
      `"${formatPath(destination.path)}" contains the source, so it cannot be replaced.`,
    )
  }
  if (existing.kind === 'directory') requireOutside(existing, destination, await source.enclosingIds(signal, null))
  await removeEntry(remover, destination, existing, { permanent: false, signal })
}

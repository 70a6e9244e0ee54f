/** Stores a copied file as an entry of an atomic job, so that the job can undo the copy or delete its source. */
import { formatPath } from '../../auth/path.ts'
import type { CopiedVersions, NewJobEntry } from '../../db/jobs/entries.ts'
import type { StoredVersion } from '../../db/schema.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { FileVersion } from '../files/copied.ts'

export function copiedEntry(
  from: ReadLocation,
  to: WriteLocation,
  { seen, copy }: { seen: FileVersion; copy: FileVersion },
): NewJobEntry {
  return {
    state: 'COPIED',
    providerId: from.providerId,
    path: formatPath(from.path),
    targetPath: formatPath(to.path),
    depth: 0,
    isNewTarget: true,
    copied: { seen: stored(seen), copy: stored(copy) },
  }
}

/** Returns what `copiedEntry` was given. */
export function versionsOf(copied: CopiedVersions | null): { seen: FileVersion; copy: FileVersion } {
  if (!copied) throw new Error('This entry of a job is not a copied file')
  return { seen: version(copied.seen), copy: version(copied.copy) }
}

function stored({ size, etag, modifiedAt, fileId }: FileVersion): StoredVersion {
  return { size, etag, modifiedAt: modifiedAt?.getTime() ?? null, fileId }
}

function version({ modifiedAt, ...rest }: StoredVersion): FileVersion {
  return { ...rest, modifiedAt: modifiedAt === null ? null : new Date(modifiedAt) }
}

/**
 * The part of a RESTORE in a storage whose back end keeps versions by itself. Nothing in the database says what was replaced there, so the
 * job asks the back end for the versions of each file that was changed since and, where it can say that, for the files that were deleted.
 */
import { ancestorsOf, type StoragePath } from '../../auth/path.ts'
import { commitStep, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { findRestorable, whenTrashed } from '../../db/restorable.ts'
import type { RestoreStep } from '../../db/schema.ts'
import { allDone } from '../../lib/limiter.ts'
import type { CheckedEntry, CheckedVersions } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from '../files/conflict.ts'
import { requireReplaceable } from '../files/transfer.ts'
import { restoreNative, searchNative } from '../versions/native.ts'
import { type JobRun, passingBytes, sourceAt, type Tally, writable } from './job-run.ts'
import { contentOf, countPlanned, isContent, seenOf, stepAt, timeOf } from './restore-step.ts'

/** The number of deleted files in one call. */
const deletedPerPage = 500
/** Begins the cursor of an entry whose deleted files are looked for. Other cursors are paths, which begin with "/". */
const deletedMark = 'deleted:'

/**
 * Returns the version that was the content at the time; null if there is none, or if the file did not exist then.
 * @throws INVALID_INPUT if there are too many newer ones
 */
async function versionAt(
  location: WriteLocation,
  at: Date,
  signal: AbortSignal,
): Promise<CheckedVersions['versions'][number] | null> {
  for await (const version of searchNative(location, signal)) {
    if (version.replacedAt && version.replacedAt <= at) return null
    if (version.modifiedAt && version.modifiedAt <= at) return version
  }
  return null
}

/**
 * Returns the step that brings the content of the time back; null if there is none.
 * @param existing what is at the path now; undefined if another step changes that first
 */
export async function nativeStep(
  run: JobRun,
  location: WriteLocation,
  existing: CheckedEntry | null | undefined,
): Promise<RestoreStep | null> {
  if (!location.hasNativeVersions) return null
  const version = await versionAt(location, timeOf(run), run.signal)
  if (!version) return null
  const { id, size, etag, modifiedAt, replacedAt } = version
  return {
    action: existing ? 'REPLACE' : 'CREATE',
    content: { source: 'NATIVE', id },
    kind: 'file',
    size,
    etag,
    modifiedAt: modifiedAt?.getTime() ?? null,
    until: replacedAt?.getTime() ?? null,
    ...(existing !== undefined && { seen: existing && seenOf(existing) }),
  }
}

/** @throws NOT_FOUND if the back end does not keep the version any more */
export async function carryOutNative(
  run: JobRun,
  location: WriteLocation,
  step: RestoreStep & { id: string },
): Promise<void> {
  const { signal } = run
  const existing = await statOrNull(location, signal)
  if (existing && isContent(existing, contentOf(step))) return
  if (existing) await requireReplaceable('file', location, existing, signal)
  const options = { overwrite: true, signal, onBytes: passingBytes(run, location) }
  await restoreNative(step.id, location, location, options)
}

/** Returns the cursor with which a search for deleted files begins; null where the back end does not find them. */
export function deletedStart(location: WriteLocation, source: CheckedEntry | null): string | null {
  return location.findsDeleted && source?.kind !== 'file' ? deletedMark : null
}

export function isDeletedCursor(cursor: string | null): cursor is string {
  return cursor?.startsWith(deletedMark) === true
}

/** Plans one page of the files below a folder that were deleted since. Returns the next cursor, or null. */
export async function planDeleted(run: JobRun, tally: Tally, entry: JobEntry, cursor: string): Promise<string | null> {
  const location = writable(sourceAt(run, entry))
  const steps: NewJobEntry[] = []
  const page = await tally.attempt(run, { ...entry, cursor }, async () => {
    const position = cursor.slice(deletedMark.length) || null
    return location.listDeleted(run.signal, { cursor: position, limit: deletedPerPage })
  })
  const { paths, goneAt } = await withoutKnown(run, entry.providerId, page?.paths ?? [])
  await allDone(
    paths.map(path => {
      const at = stepAt(run, entry.providerId, path)
      const { state: _, ...failing } = at
      return tally.attempt(run, { ...failing, state: 'SOURCE' }, () =>
        run.limits.run([entry.providerId], async () => {
          const isBelowTrashed = ancestorsOf(path).some(folder => goneAt.has(folder))
          const step = await nativeStep(run, location.at(path), isBelowTrashed ? undefined : null)
          if (step) steps.push({ ...at, restores: step })
        }),
      )
    }),
  )
  countPlanned(run, tally, steps)
  const next = page?.cursor == null ? null : deletedMark + page.cursor
  const following = next === null ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(run.db, run, entry, { next: following, found: steps, done: tally })
  return next
}

/** Leaves out what versions of Stowage or the trash bring back. The entries of a folder in the trash come back with the folder first. */
async function withoutKnown(run: JobRun, providerId: string, paths: readonly StoragePath[]) {
  const { db } = run
  const past = { providerId, at: timeOf(run) }
  const known = await findRestorable(db, past, paths)
  const left = paths.filter(path => !known.has(path))
  return { paths: left, goneAt: await whenTrashed(db, past, left.flatMap(ancestorsOf)) }
}

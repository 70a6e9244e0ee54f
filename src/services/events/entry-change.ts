/** Which entries an audit event has changed, and how that looks from a folder. */
import { isWithin, parsePath, type StoragePath } from '../../auth/path.ts'
import type { AuditEvent } from '../../db/audit-events.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { AuditAction } from '../../db/schema.ts'

export const entryChangeKinds = ['WRITTEN', 'REMOVED', 'TREE_CHANGED'] as const
export type EntryChangeKind = (typeof entryChangeKinds)[number]

export interface EntryLocation {
  providerId: string
  path: StoragePath
}

export interface EntryChange extends EntryLocation {
  kind: EntryChangeKind
  at: Date
}

/** The change at the first and at the second location of an event. */
const kinds: Partial<Record<AuditAction, [EntryChangeKind | null, EntryChangeKind | null]>> = {
  UPLOAD: ['WRITTEN', null],
  FOLDER_CREATE: ['WRITTEN', null],
  RENAME: ['REMOVED', 'WRITTEN'],
  MOVE: ['REMOVED', 'WRITTEN'],
  COPY: [null, 'WRITTEN'],
  DELETE: ['REMOVED', null],
  RESTORE: ['WRITTEN', null],
}

/** @param job the job whose end the event records; null for other events, and if the job is deleted */
export function changesOf(event: AuditEvent, job: JobRecord | null): EntryChange[] {
  const { action, at } = event
  if (action === 'JOB_END') return job ? changesOfJob(job, at) : []
  const [kind, toKind] = kinds[action] ?? [null, null]
  return [
    ...changeAt(kind, event.providerId, event.path, at),
    ...changeAt(toKind, event.toProviderId, event.toPath, at),
  ]
}

function changesOfJob({ kind, dryRun, sources, target }: JobRecord, at: Date): EntryChange[] {
  if (dryRun) return []
  const changed = [...(kind === 'MOVE' || kind === 'DELETE' ? sources : []), ...(target ? [target] : [])]
  return changed.flatMap(({ providerId, path }) => changeAt('TREE_CHANGED', providerId, path, at))
}

function changeAt(
  kind: EntryChangeKind | null,
  providerId: string | null,
  path: string | null,
  at: Date,
): EntryChange[] {
  return kind && providerId !== null && path !== null ? [{ kind, providerId, path: parsePath(path), at }] : []
}

/**
 * Returns a change as it looks from a location: null if it is elsewhere. A change of a folder above becomes a change of the
 * location itself, so that no path outside of the location is revealed.
 */
export function seenFrom({ providerId, path }: EntryLocation, change: EntryChange): EntryChange | null {
  if (change.providerId !== providerId) return null
  if (isWithin(change.path, path)) return change
  if (!isWithin(path, change.path)) return null
  return { ...change, path, kind: change.kind === 'REMOVED' ? 'REMOVED' : 'TREE_CHANGED' }
}

import type { Selectable } from 'kysely'
import type { Reason } from '../../errors.ts'
import { type Creator, toCreator } from '../creator.ts'
import type { JobConflict, JobKind, JobOutcome, JobState, JobTarget, Schema, StoredLocation } from '../schema.ts'

export interface JobRecord extends Creator {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** The client's address and the id of the request that created the job. */
  address: string
  requestId: string
  kind: JobKind
  state: JobState
  sources: StoredLocation[]
  /** The folder that the sources go into; null for DELETE. */
  target: JobTarget | null
  conflict: JobConflict
  /** True if SYNC deletes entries that exist only at the target. */
  deleteExtra: boolean
  /** True if the job only counts and changes nothing. */
  dryRun: boolean
  /** True if a DELETE or a SYNC deletes for good, without the trash. */
  permanent: boolean
  /** A mutation waits for the job. It stops at the first failure, and then undoes what it has copied. */
  isAtomic: boolean
  /** The decision of an atomic COPY or MOVE about its copies; null until everything is copied or something has failed. */
  outcome: JobOutcome | null
  progress: JobProgress
  /** The reason why the whole job failed. */
  error: { reason: Reason; message: string } | null
  createdAt: Date
  startedAt: Date | null
  endedAt: Date | null
}

/** Counts of files, and bytes. */
export interface JobProgress {
  /** Files that are done, and their bytes. */
  files: number
  bytes: number
  /** Files that were not written, because the conflict policy said so or both sides have the same content. */
  skipped: number
  deleted: number
  failed: number
  /** Null until everything is counted. */
  totalFiles: number | null
  totalBytes: number | null
  bytesPerSecond: number
}

export function toJob(row: Selectable<Schema['jobs']>): JobRecord {
  const [files, bytes] = [Number(row.files) + Number(row.pending_files), Number(row.bytes) + Number(row.pending_bytes)]
  const skipped = Number(row.skipped)
  return {
    id: row.id,
    ...toCreator(row),
    address: row.address,
    requestId: row.request_id,
    kind: row.kind,
    state: row.state,
    sources: row.sources,
    target: row.target,
    conflict: row.conflict,
    deleteExtra: row.delete_extra,
    dryRun: row.dry_run,
    permanent: row.permanent,
    isAtomic: row.is_atomic,
    outcome: row.outcome,
    progress: {
      files,
      bytes,
      skipped,
      deleted: Number(row.deleted),
      failed: Number(row.failed),
      // Files may have been added, or moved away, while the job counted them.
      totalFiles: row.total_files === null ? null : Math.max(Number(row.total_files), files + skipped),
      totalBytes: row.total_bytes === null ? null : Math.max(Number(row.total_bytes), bytes),
      bytesPerSecond: row.bytes_per_second,
    },
    error: row.error_reason === null ? null : { reason: row.error_reason, message: row.error_message ?? '' },
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

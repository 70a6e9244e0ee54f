/** The trash, as the services that delete use it. The services of the trash implement it, because they use those of files. */
import type { TrashItem } from '../../db/trash.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'

export interface PutOptions {
  signal: AbortSignal
  /** The job that deletes the entry; null for a request, which never copies a whole folder. */
  jobId: string | null
}

export interface TrashBin {
  /** Returns whether deleted entries of a provider go to its trash. */
  isOn(location: WriteLocation): Promise<boolean>
  /**
   * Moves an entry with everything below it to the trash of its provider.
   * @returns the item; OFF if the provider has no trash, so that the caller deletes the entry; NEEDS_JOB for a folder that has
   * to be copied file by file
   * @throws COPY_ONLY, PRECONDITION_FAILED if the entry changes meanwhile, and as the back ends
   */
  put(location: WriteLocation, entry: CheckedEntry, options: PutOptions): Promise<TrashItem | 'OFF' | 'NEEDS_JOB'>
  /**
   * Moves an item back to where it was, for a job. A file replaces the one that is there, and a folder is added to the one that is there.
   * Files that are replaced become versions or, without these, go to the trash.
   * @param options.isRepeated whether an earlier attempt of the job may have begun
   * @param options.turn aborts when the job is to let another one work
   * @returns false if the turn ended before all files of a folder were added. Another call continues
   * @throws NOT_FOUND if it is not in the trash any more; PRECONDITION_FAILED if nothing would keep what it replaces; and as the back ends
   */
  restore(
    id: string,
    location: WriteLocation,
    options: { isRepeated: boolean; signal: AbortSignal; turn: AbortSignal },
  ): Promise<boolean>
  /** Returns the item of a job with one source; null if it has none. */
  itemOfJob(jobId: string): Promise<TrashItem | null>
}

import type { CheckedEntry } from './validate-entry.ts'
import type { WriteLocation } from './write-location.ts'

/** The times that the contract allows for `write`, in milliseconds: 1970 to 2099. */
const firstAfter = Date.UTC(2100, 0)

/** Returns the modification time to give to a copy or an upload, which some back ends store. */
export function timeToKeep({ modifiedAt }: Pick<CheckedEntry, 'modifiedAt'>): Date | undefined {
  const isAllowed = modifiedAt !== null && modifiedAt.getTime() >= 0 && modifiedAt.getTime() < firstAfter
  return isAllowed ? modifiedAt : undefined
}

/** Returns whether a copy at this location has the modification time of the file. */
export function keepsTime(target: WriteLocation, file: CheckedEntry): boolean {
  return target.traits.keepsModifiedAt === true && timeToKeep(file) !== undefined
}

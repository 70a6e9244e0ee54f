// @ts-check
/** @import { StoragePath } from 'stowage/adapter' */
import { StorageError, segmentsOf } from 'stowage/adapter'

/** Begins the names of files that are being written, in services that rename. They are in the root, so that no new folder remains. */
export const stagingPrefix = '.stowage-opendal-'

/** OpenDAL trims paths and reads a backslash as a slash. A control character makes some services fail to list the folder. @param {string} name */
export function isStorable(name) {
  const isKept = name !== '' && !/[/\\\p{Cc}]|^\s|\s$/u.test(name)
  return isKept && Buffer.byteLength(name) <= 255 && !name.startsWith(stagingPrefix)
}

/** @param {StoragePath} path */
export function refuseNames(path) {
  if (segmentsOf(path).every(isStorable)) return
  const message =
    'OpenDAL stores no names that begin or end with white space, contain a backslash or control character, or have more than 255 bytes.'
  throw new StorageError('INVALID_PATH', message)
}

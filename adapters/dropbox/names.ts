import { StorageError, type StoragePath, segmentsOf } from '../contract.ts'

/** Characters (help.dropbox.com/organize/file-names). */
const maxLength = 255

/** Returns true for a name that Dropbox would refuse or store as another one. It knows more names that it refuses. */
export function isUnstorable(name: string): boolean {
  return name.length > maxLength || /[\\\u007f]|\s$/.test(name)
}

/** @throws INVALID_PATH */
export function requireStorable(path: StoragePath): void {
  if (segmentsOf(path).some(isUnstorable)) throw badName()
}

/** Dropbox's names are not case-sensitive, but it keeps the case of the first writer. */
export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

export const badName = () => new StorageError('INVALID_PATH', 'Dropbox cannot store exactly this name: choose another.')

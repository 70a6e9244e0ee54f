import { StorageError, type StoragePath, segmentsOf } from '../contract.ts'

/** Characters of a name and of a whole path in a drive (support.microsoft.com, "Restrictions and limitations in OneDrive"). */
const [maxName, maxPath] = [255, 400]

/** Characters that OneDrive refuses, spaces and periods at the wrong end, and names of its own. */
const refused = /["*:<>?\\|\p{Cc}]|^\s|^~\$|[\s.]$|_vti_/iu
const reserved = /^(?:\.lock|con|prn|aux|nul|com\d|lpt\d|desktop\.ini)$/i

/** Returns true for a name that OneDrive would refuse or store as another one. */
export function isUnstorable(name: string): boolean {
  return name.length > maxName || refused.test(name) || reserved.test(name)
}

/** @param root the path of the root folder, which counts for the length. @throws INVALID_PATH */
export function requireStorable(path: StoragePath, root: string): void {
  if (segmentsOf(path).some(isUnstorable)) throw badName()
  if (root.length + path.length > maxPath) {
    throw new StorageError('INVALID_PATH', `OneDrive stores paths of at most ${maxPath} characters: use shorter names.`)
  }
}

/** OneDrive's names are not case-sensitive, but it keeps the case of the first writer. */
export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

export const badName = () =>
  new StorageError('INVALID_PATH', 'OneDrive cannot store exactly this name: choose another.')

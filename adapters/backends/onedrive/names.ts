import { controlCharacters, whiteSpace } from '../../bases/cloud/names.ts'
import { StorageError, type StoragePath, segmentsOf, type Traits } from '../../contract.ts'

/** Characters of a name and of a whole path in a drive (support.microsoft.com, "Restrictions and limitations in OneDrive"). */
const [maxName, maxPath] = [255, 400]

/** Names that OneDrive would refuse or store as other ones, from the same page. */
export const nameTraits = {
  forbiddenInNames: `"*:<>?\\|${controlCharacters}`,
  forbiddenAtEndOfNames: `.${whiteSpace}`,
  reservedNames: [
    '.lock',
    'desktop.ini',
    'con',
    'prn',
    'aux',
    'nul',
    ...Array.from('0123456789', digit => [`com${digit}`, `lpt${digit}`]).flat(),
  ],
} satisfies Partial<Traits>

/** Names that OneDrive refuses for how they begin, or for a part of them. */
const refused = /^\s|^~\$|_vti_/i

/** Returns true for a name that OneDrive would refuse, although the traits allow it. */
export function isUnstorable(name: string): boolean {
  return name.length > maxName || refused.test(name)
}

/** @param root the path of the root folder, which counts for the length. @throws INVALID_PATH */
export function requireStorable(path: StoragePath, root: string): void {
  if (segmentsOf(path).some(isUnstorable)) throw badName()
  if (root.length + path.length > maxPath) {
    throw new StorageError('INVALID_PATH', `OneDrive stores paths of at most ${maxPath} characters: use shorter names.`)
  }
}

export const badName = () =>
  new StorageError('INVALID_PATH', 'OneDrive cannot store exactly this name: choose another.')

import { whiteSpace } from '../../bases/cloud/names.ts'
import { StorageError, type StoragePath, segmentsOf, type Traits } from '../../contract.ts'

/** Characters (help.dropbox.com/organize/file-names). */
const maxLength = 255

/** Names that Dropbox would refuse or store as other ones. It knows more names that it refuses. */
export const nameTraits = {
  forbiddenInNames: '\\\u007f',
  forbiddenAtEndOfNames: whiteSpace,
} satisfies Partial<Traits>

/** @throws INVALID_PATH for a name that is too long */
export function requireStorable(path: StoragePath): void {
  if (segmentsOf(path).some(name => name.length > maxLength)) throw badName()
}

export const badName = () => new StorageError('INVALID_PATH', 'Dropbox cannot store exactly this name: choose another.')

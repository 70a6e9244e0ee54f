import type { ListPage } from '../../contract.ts'

/** A page of a listing that groups keys by `/`. */
export interface FolderPage extends ListPage {
  /** Names that are not valid in a path; undefined for one that is not UTF-8. The listing leaves them out. */
  invalid: (string | undefined)[]
  /** Folders that have the same name as a file. The listing leaves them out. */
  hidden: string[]
  /** True where no key has the folder's prefix, not even that of a marker. */
  isMissing: boolean
}

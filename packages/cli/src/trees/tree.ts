/**
 * The two sides of a transfer: a folder with everything below it, on this machine (`local-tree.ts`) or in a storage
 * (`remote-tree.ts`). Names of entries enter as steps; listings and paths leave. `save-file.ts` stores a downloaded file.
 */

/** The names from the top of a tree down; empty for the top itself. */
export type Steps = readonly string[]

export interface Item {
  name: string
  /** `other` is neither a file nor a folder, such as a symbolic link that is not followed. */
  kind: 'file' | 'folder' | 'other'
  /** Bytes; null if unknown. */
  size: number | null
  modifiedAt: Date | null
}

export interface Tree {
  /** Returns whether an entry can have the name. Names of a server must not lead out of a local folder. */
  accepts(name: string): boolean
  /** Returns the path as a person writes it. */
  display(steps: Steps): string
  /** Returns the entries of a folder by their names. @throws if it is missing */
  list(steps: Steps): Promise<Map<string, Item>>
  /** Creates a folder with its parents. Returns false if the name is taken. */
  makeFolder(steps: Steps): Promise<boolean>
  /** Deletes an entry with everything below it. */
  remove(steps: Steps, item: Item): Promise<void>
}

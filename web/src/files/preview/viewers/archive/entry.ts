/** An entry of an archive, whatever its format is. */
export interface ArchivedEntry {
  /** The names of the folders, and of the entry. */
  path: readonly string[]
  isFolder: boolean
  /** Bytes; null if the archive does not say it. */
  size: number | null
  modifiedAt: Date | null
  isEncrypted: boolean
}

/** Characters of a name in an archive, which can be as long as the archive, and the folders in it. */
const [maxName, maxDepth] = [4096, 100]

export function pathOf(name: string): string[] {
  return name
    .slice(0, maxName)
    .split('/', maxDepth)
    .filter(part => part !== '' && part !== '.')
}

import { childPath, type StorageLocation } from '../api/paths.ts'
import { type Entry, fileLink, folderLink } from './operations.ts'

/** Milliseconds between two downloads. Browsers drop downloads that start faster. */
const interval = 400

/** Downloads each entry with the browser, a folder as a ZIP archive. @throws StowageError */
export async function downloadEntries(folder: StorageLocation, entries: readonly Entry[]): Promise<void> {
  for (const [index, { __typename, name }] of entries.entries()) {
    if (index > 0) await new Promise(resolve => setTimeout(resolve, interval))
    const location = { ...folder, path: childPath(folder.path, name) }
    save(await (__typename === 'Folder' ? folderLink(location) : fileLink(location)))
  }
}

function save(url: string): void {
  const link = document.createElement('a')
  link.href = url
  // An empty name lets the server choose it.
  link.download = ''
  link.click()
}

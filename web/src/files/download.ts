import { type Entry, fileLink, folderLink, type Place } from './operations.ts'
import { childPath } from './paths.ts'

/** Milliseconds; browsers drop what comes faster. */
const between = 400

/** Files as they are, folders as ZIP files, by the browser's own downloads. @throws ApiError */
export async function downloadEntries(folder: Place, entries: readonly Entry[]): Promise<void> {
  for (const [index, { __typename, name }] of entries.entries()) {
    if (index > 0) await new Promise(resolve => setTimeout(resolve, between))
    const place = { ...folder, path: childPath(folder.path, name) }
    save(await (__typename === 'Folder' ? folderLink(place) : fileLink(place)))
  }
}

function save(url: string): void {
  const link = document.createElement('a')
  link.href = url
  // The server names it.
  link.download = ''
  link.click()
}

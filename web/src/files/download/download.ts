/** Downloads: one file or folder by a link of the browser, and several as one archive, which the panel follows. */
import { urlOf } from '../../api/client.ts'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { save } from '../../lib/save-file.ts'
import { texts } from '../../texts/downloads.ts'
import { notify, notifyError } from '../../ui/toasts.tsx'
import { archiveTicket, type Entry, fileLink, folderLink } from '../operations.ts'
import { ArchiveDownload, addDownload, maxSelected, saveByForm } from './archive-download.ts'

/** Bytes. Browsers may keep a file that a page saves in memory, so they download larger ones themselves. */
const maxInPage = 500_000_000

/**
 * Downloads one file or folder with a link, and several as one ZIP archive.
 * @param name the name of the folder that contains them
 * @throws StowageError
 */
export async function downloadEntries(folder: StorageLocation, name: string, entries: readonly Entry[]): Promise<void> {
  const [first, ...others] = entries
  if (!first) return
  if (others.length === 0) {
    const location = { ...folder, path: childPath(folder.path, first.name) }
    save(await (first.__typename === 'Folder' ? folderLink(location) : fileLink(location)), '')
    return
  }
  if (entries.length > maxSelected) throw new Error(texts.tooMany(maxSelected))
  const paths = entries.map(entry => childPath(folder.path, entry.name))
  const size = sizeOf(entries)
  if (size !== null && size <= maxInPage) {
    addDownload(new ArchiveDownload({ providerId: folder.providerId, paths, name: `${name}.zip`, size }))
    return
  }
  const ticket = await archiveTicket(folder.providerId, paths)
  saveByForm(urlOf('/api/download/archive'), { ticket }, () => notifyError(new Error(texts.failed)))
  notify(texts.inBrowser(entries.length))
}

/** Bytes; null if a size is unknown, as that of a folder. */
function sizeOf(entries: readonly Entry[]): number | null {
  let sum = 0
  for (const entry of entries) {
    if (entry.__typename === 'Folder' || entry.size === null) return null
    sum += entry.size
  }
  return sum
}

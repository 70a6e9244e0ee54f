/** The entries of an archive. Of a ZIP file, only the directory at its end is read; a tape archive has none and is read from the start. */
import type { ViewedFile } from '../../viewer.ts'
import type { ArchivedEntry } from './entry.ts'

export interface ArchiveListing {
  entries: readonly ArchivedEntry[]
  /** Whether the whole archive was listed. */
  isAll: boolean
}

/** The entries that are listed. */
export const maxListed = 20_000

/** @throws StowageError; any other error if the file is damaged, or no archive of this kind */
export async function listArchive(file: ViewedFile, signal: AbortSignal): Promise<ArchiveListing> {
  const isTape = /\.(?:tar|tgz|tar\.gz)$/i.test(file.name)
  const { entriesOf } = isTape ? await import('./tape.ts') : await import('./zip.ts')
  const entries: ArchivedEntry[] = []
  for await (const entry of entriesOf(file, signal)) {
    if (entry === 'cut' || entries.length === maxListed) return { entries, isAll: false }
    if (entry.path.length > 0) entries.push(entry)
  }
  return { entries, isAll: true }
}

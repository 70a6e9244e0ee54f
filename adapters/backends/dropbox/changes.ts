/** Lists what has changed below the root folder (www.dropbox.com/developers/documentation/http/documentation#files-list_folder-continue). */
import { changesAtOnce, changesPage } from '../../bases/changes.ts'
import { RequestFailure } from '../../bases/cloud/client.ts'
import { type ChangedEntry, type ChangesPage, joinSegments, type StoragePath, segmentsOf } from '../../contract.ts'
import type { DeletedMetadata, Metadata } from './api.ts'
import { idOf } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import { type DropboxFiles, isPresent } from './files.ts'

export async function changesSince(
  files: DropboxFiles,
  cursor: string | null,
  signal: AbortSignal,
): Promise<ChangesPage> {
  if (cursor === null) return { changed: [], cursor: await latest(files, signal), hasMore: false }
  try {
    const page = await files.listMore(cursor, signal)
    const changed = page.entries.flatMap(entry => toChange(files, entry))
    return changesPage(changed, page.cursor, page.has_more)
  } catch (error) {
    // The cursor has expired, or the namespace has changed.
    if (!(error instanceof RequestFailure && isRefusedFor(error.failure, 'reset'))) throw error
    return { changed: 'everything', cursor: await latest(files, signal), hasMore: false }
  }
}

async function latest(files: DropboxFiles, signal: AbortSignal): Promise<string> {
  const args = { path: files.pathOf('' as StoragePath), recursive: true, limit: changesAtOnce }
  const { cursor } = await files.api.call<{ cursor: string }>('files/list_folder/get_latest_cursor', args, { signal })
  return cursor
}

/** Dropbox reports a moved folder as removed, and as new with everything below it. */
function toChange(files: DropboxFiles, entry: Metadata | DeletedMetadata): ChangedEntry[] {
  // An entry of a space that is not mounted has no path.
  if (entry.path_display === undefined) return []
  const depth = segmentsOf(files.pathOf('' as StoragePath) as StoragePath).slice(1).length
  const path = joinSegments(segmentsOf(entry.path_display as StoragePath).slice(1 + depth))
  if (path === '') return []
  return [{ path, ...(isPresent(entry) && { fileId: idOf(entry) }) }]
}

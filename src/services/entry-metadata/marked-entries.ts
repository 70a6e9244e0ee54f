/** Entries with a star or a tag, as lists show them: with what the catalogue knows of them, because their back ends may be slow. */
import type { StoragePath } from '../../auth/path.ts'
import { findFacts } from '../../db/catalogue/entries.ts'
import type { Database } from '../../db/client.ts'
import { catalogueEntry, type FileEntry } from '../files/entry.ts'
import { encodeIdCursor } from '../paging.ts'

interface MarkedEntry {
  id: string
  providerId: string
  path: StoragePath
  isFolder: boolean
}

export interface MarkedPage<Mark> {
  items: { entry: FileEntry; mark: Mark; cursor: string }[]
  hasNext: boolean
}

const nothing = { size: null, modifiedAt: null, etag: null, checksums: {} }

/** Returns a page of the first `limit` marks. An entry that the catalogue does not have is shown without size and time. */
export async function toMarkedPage<Mark extends MarkedEntry>(
  db: Database,
  marks: readonly Mark[],
  limit: number,
): Promise<MarkedPage<Mark>> {
  const shown = marks.slice(0, limit)
  const facts = await findFacts(db, shown)
  const items = shown.map((mark, index) => {
    const kind = mark.isFolder ? ('directory' as const) : ('file' as const)
    const entry = catalogueEntry(mark.providerId, mark.path, { kind, ...(facts[index] ?? nothing) })
    return { entry, mark, cursor: encodeIdCursor(mark.id) }
  })
  return { items, hasNext: marks.length > limit }
}

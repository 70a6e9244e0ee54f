/** Finds files and folders by name. */
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { parsePageSize } from '../input.ts'
import { type Walked, walkBounded } from './bounded-walk.ts'
import { entryAt, type FileEntry, type LocationInput } from './entry.ts'

export interface SearchInput extends LocationInput {
  /** The text that names contain, in upper or lower case. */
  name: string
  /** The maximum number of results. */
  first: number
}

export interface FoundEntries extends Omit<Walked, 'cut'> {
  /** Sorted by path. */
  entries: FileEntry[]
  /** The limit that ended the search before it was complete. */
  cut: 'RESULTS' | 'ENTRIES' | 'TIME' | null
}

/** The maximum number of results. */
const maxResults = 1000

/**
 * Searches below a folder, level by level, until a limit is reached.
 * @throws as `Files.list` for the folder itself; UNAVAILABLE and others if the back end fails
 */
export async function search(
  storage: Storage,
  viewer: Viewer | null,
  input: SearchInput,
  requestSignal: AbortSignal,
): Promise<FoundEntries> {
  const [granted] = authorize(viewer, needs.read, input)
  const first = parsePageSize(input.first, maxResults)
  const wanted = fold(input.name)
  if (wanted === '') throw new AppError('INVALID_INPUT', 'Give the text that the names contain.')
  const top = await storage.readAt(granted)
  return storage.activeGrants.run([granted], requestSignal, async signal => {
    const found: FileEntry[] = []
    const walked = await walkBounded(top, signal, (location, entry) => {
      if (!fold(entry.name).includes(wanted)) return true
      if (found.length === first) return false
      found.push(entryAt(location, entry))
      return true
    })
    const entries = found.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    return { ...walked, entries, cut: walked.cut === 'VISITOR' ? 'RESULTS' : walked.cut }
  })
}

/** Makes names comparable. Systems store accents in different forms. */
function fold(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

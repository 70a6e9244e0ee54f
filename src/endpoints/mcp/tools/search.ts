/** Tools that find files and folders by their names, and files by their text. */
import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { hitEnd, hitStart } from '../../../services/catalogue/content/snippet.ts'
import { fileTypes } from '../../../services/catalogue/file-types.ts'
import { maxSearchText } from '../../../services/catalogue/search.ts'
import type { ToolContext } from '../approval.ts'
import { defineTool, hints, listedByPath, path, providerId, toListedByPath } from '../tool.ts'

/** The maximum number of results, which have whole paths. */
const maxFound = 100

const folderResult = z.object({
  entries: z.array(listedByPath),
  walked: z.number().describe('Entries whose names were compared'),
  unreadable: z.number().describe('Folders that could not be listed'),
  cut: z.enum(['RESULTS', 'ENTRIES', 'TIME']).nullable().describe('The limit that ended it; null if complete'),
})
type FolderResult = z.infer<typeof folderResult>

export const search = defineTool({
  name: 'search',
  title: 'Search by name',
  description:
    'Finds files and folders below a folder whose names contain a text, in upper or lower case. It does not search content. It can stop at a limit of results, entries or time, and says so in `cut`: then search in a folder further down.',
  annotations: hints.reads,
  needs: needs.read,
  showsData: true,
  input: z.strictObject({
    providerId,
    path,
    name: z.string(),
    first: z.int().min(1).max(maxFound).default(50).describe('The maximum number of results'),
  }),
  output: folderResult,
  async run(input, context) {
    const known = await searchCatalogue(input, context)
    if (known) return known
    const { services, viewer, signal } = context
    const { entries, walked, unreadable, cut } = await services.files.search(viewer, input, signal)
    return { entries: entries.map(toListedByPath), walked, unreadable, cut }
  },
})

interface FolderSearch {
  providerId: string
  path: string
  name: string
  first: number
}

/** Returns null unless the catalogue has everything below the folder. */
async function searchCatalogue(
  { name, first, ...location }: FolderSearch,
  { services, viewer, signal }: ToolContext,
): Promise<FolderResult | null> {
  if (name.trim() === '' || name.length > maxSearchText - 2) return null
  const input = { text: `"${name.replaceAll('"', ' ')}"`, within: [location], content: false }
  const { items, hasNext, coverage } = await services.catalogue.search(viewer, input, { first }, signal)
  if (!coverage.every(({ isComplete }) => isComplete)) return null
  const folder = await services.files.stat(viewer, location, signal)
  if (folder.kind !== 'directory') return null
  const entries = items.map(({ entry }) => toListedByPath(entry))
  return { entries, walked: 0, unreadable: 0, cut: hasNext ? 'RESULTS' : null }
}

export const find = defineTool({
  name: 'find',
  title: 'Find in all storages',
  description: 'Finds files and folders whose name or text contains all words, best first. Quote a phrase.',
  annotations: hints.reads,
  needs: needs.search,
  showsData: true,
  input: z.strictObject({
    text: z.string(),
    kinds: z.array(z.enum(['FILE', 'FOLDER'])).optional(),
    types: z.array(z.enum(fileTypes)).optional(),
    first: z.int().min(1).max(maxFound).default(50),
  }),
  output: z.object({
    entries: z.array(listedByPath.extend({ providerId: z.string(), snippet: z.string().nullable() })),
    hasMore: z.boolean(),
    incomplete: z.array(z.string()).describe('Use search in these providers'),
  }),
  async run({ first, ...input }, { services, viewer, signal }) {
    const { items, hasNext, coverage } = await services.catalogue.search(viewer, input, { first }, signal)
    return {
      entries: items.map(({ entry, snippet }) => ({
        providerId: entry.providerId,
        ...toListedByPath(entry),
        snippet: snippet?.replaceAll(hitStart, '').replaceAll(hitEnd, '') ?? null,
      })),
      hasMore: hasNext,
      incomplete: coverage.flatMap(({ provider, isComplete }) => (isComplete ? [] : provider.id)),
    }
  },
})

/** Finds files and folders by their names, and files by their text, in all storages or in some folders. */
import { listBasePaths } from '../../auth/access.ts'
import { type Asked, authorizeSearch, type needs } from '../../auth/needs.ts'
import { parentOf } from '../../auth/path.ts'
import type { SearchGrant } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Catalogue } from '../../db/catalogue/catalogues.ts'
import { findUnread, findUnsettled } from '../../db/catalogue/coverage.ts'
import { findFilePaths } from '../../db/catalogue/entries.ts'
import { contentRank, type FoundPosition, type SearchRange, searchCatalogues } from '../../db/catalogue/search.ts'
import type { Database } from '../../db/client.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import { parseTag } from '../entry-metadata/tags.ts'
import { catalogueEntry, type FileEntry } from '../files/entry.ts'
import { parsePageSize } from '../input.ts'
import { signedCursors } from '../paging.ts'
import { readSnippets } from './content/snippets.ts'
import { parseContentQuery } from './content/words.ts'
import { extensionsOf, type FileType } from './file-types.ts'
import { gramOfFolder, parseQuery } from './names.ts'
import { type CatalogueScope, isWhole, readScope, throwTooSlow } from './scope.ts'

export const maxSearchPage = 200
/** Characters. */
export const maxSearchText = 200
/** Folders of one search. */
export const maxWithin = 50

export interface SearchFilters {
  text: string
  /** Default: both. */
  kinds?: readonly ('FILE' | 'FOLDER')[] | null | undefined
  /** Default: all. A filter of types finds only files. */
  types?: readonly FileType[] | null | undefined
  /** Bytes. Folders have no size, so a filter of sizes finds only files. */
  minSize?: number | null | undefined
  maxSize?: number | null | undefined
  /** Inclusive. */
  modifiedAfter?: Date | null | undefined
  /** Exclusive. */
  modifiedBefore?: Date | null | undefined
  /** The name of a tag. Default: any entry. */
  tag?: string | null | undefined
  /** Whether to search in the text of files, too. Default: true. */
  content?: boolean | null | undefined
}

export type SearchInput = Asked<typeof needs.search> & SearchFilters

/** How much of the folders of a search the catalogue of a provider contains. */
export interface Coverage {
  provider: ProviderRecord
  /** Everything is in the catalogue. */
  isComplete: boolean
  /** Every change before this time is in the catalogue; null before the first listing of the provider has ended. */
  indexedAt: Date | null
  /** The text of all files that the catalogue has and that can be read was searched. */
  isContentComplete: boolean
}

export interface SearchPage {
  items: {
    entry: FileEntry
    provider: ProviderRecord
    /** The words around the text, between the marks of `content/snippet.ts`; null if the name matches. */
    snippet: string | null
    readonly cursor: string
  }[]
  hasNext: boolean
  coverage: Coverage[]
}

/** One search can occupy a connection to the database for seconds. */
const bounds = {
  running: 3,
  runningOfOwner: 2,
  slots: 100,
  slotsOfOwner: 10,
  refusals: { owner: 'You have too many searches at once', all: 'The server has too many searches at once' },
}

export function createSearch({ db, secrets }: { db: Database; secrets: Secrets }) {
  const queue = new FairQueue(bounds)

  return {
    /**
     * Returns one page of what the catalogues have: the best matches first, then the newest.
     * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, INVALID_PATH, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, INVALID_INPUT,
     *   NOT_FOUND, INVALID_CURSOR, RATE_LIMITED, UNAVAILABLE
     */
    async search(
      viewer: Viewer | null,
      input: SearchInput,
      page: { first: number; after?: string | null | undefined },
      signal: AbortSignal,
    ): Promise<SearchPage> {
      const granted = authorizeSearch(viewer, input)
      const limit = parsePageSize(page.first, maxSearchPage)
      requireFewFolders(granted)
      const names = parseText(input.text)
      const filters = parseFilters(input)
      const contents = input.content === false ? null : parseContentQuery(input.text.toWellFormed())
      const cursors = cursorCodec(secrets, granted, [input.text, filters, contents !== null])
      const after = page.after == null ? null : cursors.decode(page.after)
      return queue.run(granted.viewer.member.userId, signal, async () => {
        const { providers, catalogues, ranges: folders, providerOf } = await readScope(db, granted)
        const [ranges, coverage] = await Promise.all([
          withGrams(db, folders),
          coverageOf(db, providers, catalogues, folders),
        ])
        if (ranges.length === 0) return { items: [], hasNext: false, coverage }
        const hasContents = catalogues.some(({ mode }) => mode === 'CONTENT')
        const query = { ...filters, ...names, ranges, content: hasContents && contents ? contents.query : null }
        const found = await searchCatalogues(db, query, { after, limit: limit + 1 }).catch(error =>
          throwTooSlow(error, 'give a longer text, or a folder to search in'),
        )
        const rows = found.slice(0, limit)
        const byContent = rows.filter(({ rank }) => rank === contentRank)
        const texts = await readSnippets(db, byContent, contents?.phrases ?? [], signal)
        const snippets = new Map(byContent.map((row, index) => [row, texts[index] ?? null]))
        const items = rows.map(row => {
          const provider = providerOf(row.catalogue)
          const { path, isFolder, ...facts } = row
          const entry = catalogueEntry(provider.id, path, { ...facts, kind: isFolder ? 'directory' : 'file' })
          return {
            entry,
            provider,
            snippet: snippets.get(row) ?? null,
            get cursor() {
              return cursors.encode(row)
            },
          }
        })
        return { items, hasNext: found.length > limit, coverage }
      })
    },
  }
}

/** @throws INVALID_INPUT */
function requireFewFolders({ access, isNamed }: SearchGrant): void {
  if (!isNamed || access.all || [...listBasePaths(access)].length <= maxWithin) return
  throw new AppError('INVALID_INPUT', `A search can name at most ${maxWithin} folders.`)
}

/** @throws INVALID_INPUT */
function parseText(text: string) {
  if (text.length > maxSearchText) {
    throw new AppError('INVALID_INPUT', `The text of a search has at most ${maxSearchText} characters.`)
  }
  const query = parseQuery(text.toWellFormed())
  if (!query) throw new AppError('INVALID_INPUT', 'Give the text that the names contain.')
  return query
}

/** @throws INVALID_INPUT */
function parseFilters({ kinds, types, minSize, maxSize, modifiedAfter, modifiedBefore, tag }: SearchFilters) {
  for (const size of [minSize, maxSize]) {
    if (size != null && size < 0) throw new AppError('INVALID_INPUT', 'A size is 0 or more bytes.')
  }
  const only = new Set(kinds ?? [])
  return {
    isFolder: only.size === 1 ? only.has('FOLDER') : null,
    extensions: types == null || types.length === 0 ? null : extensionsOf(types),
    minSize: minSize ?? null,
    maxSize: maxSize ?? null,
    modifiedAfter: modifiedAfter ?? null,
    modifiedBefore: modifiedBefore ?? null,
    tag: tag == null ? null : parseTag(tag).key,
  }
}

/** A cursor is valid for one search with one credential. */
function cursorCodec(secrets: Secrets, { viewer, access }: SearchGrant, search: readonly unknown[]) {
  const folders = access.all ? null : [...listBasePaths(access)]
  const cursors = signedCursors(secrets, ['search', viewer.credentialId, folders, ...search], 'search')
  return {
    encode: ({ rank, modifiedAt, catalogue, path }: FoundPosition) =>
      cursors.encode([rank, modifiedAt?.getTime() ?? null, catalogue, path]),
    /** @throws INVALID_CURSOR */
    decode(cursor: string): FoundPosition {
      const [rank, time, catalogue, path] = cursors.decode(cursor)
      return { rank, modifiedAt: time === null ? null : new Date(time), catalogue, path }
    },
  }
}

/** Adds the grams of the ranges. A file has only the grams of the folders around it. */
async function withGrams(db: Database, ranges: CatalogueScope['ranges']): Promise<SearchRange[]> {
  const files = new Set((await findFilePaths(db, ranges)).map(({ catalogue, path }) => `${catalogue} ${path}`))
  return ranges.map(({ catalogue, path }) => {
    const folder = files.has(`${catalogue} ${path}`) ? parentOf(path) : path
    return { catalogue, path, gram: gramOfFolder(catalogue, folder) }
  })
}

/** @param ranges those of the search */
async function coverageOf(
  db: Database,
  providers: readonly ProviderRecord[],
  catalogues: readonly Catalogue[],
  ranges: CatalogueScope['ranges'],
): Promise<Coverage[]> {
  const [unsettled, unread] = await Promise.all([findUnsettled(db, ranges), findUnread(db, ranges)])
  return providers.map(provider => {
    const catalogue = catalogues.find(({ providerId }) => providerId === provider.id)
    const isComplete = catalogue !== undefined && isWhole(catalogue) && !unsettled.has(catalogue.id)
    const isContentComplete =
      isComplete && catalogue.mode === 'CONTENT' && !catalogue.isFilling && !unread.has(catalogue.id)
    const indexedAt = catalogue?.mode === 'OFF' ? null : (catalogue?.indexedAt ?? null)
    return { provider, isComplete, indexedAt, isContentComplete }
  })
}

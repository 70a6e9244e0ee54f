import {
  type QueryClient,
  experimental_streamedQuery as streamedQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useMemo } from 'react'
import { nameOfPath, parentPath, type StorageLocation } from '../api/locations.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { type Entry, listFolder, listProviders, type Page } from './operations.ts'

interface Listing {
  pages: readonly (readonly Entry[])[]
  count: number
  /** False until the whole folder has been read once. */
  isComplete: boolean
}

const empty: Listing = { pages: [], count: 0, isComplete: false }
/** Folders with more entries than this are not reloaded automatically for five minutes. */
const manyEntries = 2000
const fiveMinutes = 300_000

/** Returns a key for an entry. Some back ends allow a file and a folder with the same name, so a folder gets a prefix. */
export function entryKey({ __typename, name }: Entry): string {
  return (__typename === 'Folder' ? '/' : '') + name
}

/** Reads a folder in pages of 1,000 entries. The entries read so far are available at once. */
export function useListing(folder: StorageLocation) {
  const queryKey = queryKeys.listing(folder)
  const query = useQuery({
    queryKey,
    queryFn: context =>
      streamedQuery<Page, Listing, typeof queryKey>({
        streamFn: ({ signal }) => listFolder(folder, signal),
        // A complete listing stays visible until it has been read again.
        refetchMode: context.client.getQueryData<Listing>(queryKey)?.isComplete ? 'replace' : 'reset',
        initialValue: empty,
        reducer: ({ pages, count }, { entries, isLast }) => ({
          pages: [...pages, entries],
          count: count + entries.length,
          isComplete: isLast,
        }),
      })(context),
    structuralSharing: false,
    staleTime: ({ state: { data } }) => (data?.isComplete && data.count > manyEntries ? fiveMinutes : 2000),
  })
  const entries = useMemo(() => query.data?.pages.flat() ?? [], [query.data])
  return { ...query, entries, isComplete: query.data?.isComplete ?? false }
}

/** Returns a function that reloads folders after a change. */
export function useRefreshFolder() {
  const client = useQueryClient()
  return async (...folders: StorageLocation[]) => {
    const keys = folders.flatMap(folder => [queryKeys.listing(folder), queryKeys.subfolders(folder)])
    await Promise.all(keys.map(queryKey => client.invalidateQueries({ queryKey })))
  }
}

export interface UploadedFile extends StorageLocation {
  size: number
  mimeType: string | null
}

/** Adds uploaded files, and the folders created for them, to the listings in the cache. */
export function addToListings(client: QueryClient, files: readonly UploadedFile[]): void {
  const modifiedAt = new Date().toISOString()
  const added = new Map<string, { folder: StorageLocation; entries: Map<string, Entry> }>()
  const add = (folder: StorageLocation, entry: Entry) => {
    const key = JSON.stringify([folder.providerId, folder.path])
    const change = added.get(key) ?? { folder, entries: new Map<string, Entry>() }
    change.entries.set(entryKey(entry), entry)
    added.set(key, change)
  }
  for (const { providerId, path, size, mimeType } of files) {
    add(
      { providerId, path: parentPath(path) },
      // The next listing brings the address of its thumbnail.
      { __typename: 'File', name: nameOfPath(path), modifiedAt, size, mimeType, thumbnailUrl: null },
    )
    for (let at = parentPath(path); at !== '/'; at = parentPath(at)) {
      add({ providerId, path: parentPath(at) }, { __typename: 'Folder', name: nameOfPath(at), modifiedAt: null })
    }
  }
  for (const { folder, entries } of added.values()) updateListing(client, folder, [], [...entries.values()])
}

/** Removes and adds entries in a cached listing, without reading the folder again. */
export function updateListing(
  client: QueryClient,
  folder: StorageLocation,
  removed: readonly Entry[],
  added: readonly Entry[],
): void {
  const hasFolder = (page: readonly Entry[], { name }: Entry) =>
    page.some(entry => entry.__typename === 'Folder' && entry.name === name)
  client.setQueryData<Listing>(queryKeys.listing(folder), listing => {
    if (!listing?.isComplete) return listing
    // A folder that is already listed keeps its details.
    const fresh = added.filter(
      entry => entry.__typename === 'File' || !listing.pages.some(page => hasFolder(page, entry)),
    )
    if (fresh.length === 0 && removed.length === 0) return listing
    const keys = new Set([...removed, ...fresh].map(entryKey))
    const pages = listing.pages.map(page =>
      page.some(entry => keys.has(entryKey(entry))) ? page.filter(entry => !keys.has(entryKey(entry))) : page,
    )
    pages.push(fresh)
    return { pages, count: pages.reduce((sum, page) => sum + page.length, 0), isComplete: true }
  })
}

/** Changes the star or the tags of entries in a cached listing. */
export function markEntries(
  client: QueryClient,
  folder: StorageLocation,
  entries: readonly Entry[],
  marksOf: (entry: Entry) => Partial<Pick<Entry, 'isStarred' | 'tags'>>,
): void {
  const keys = new Set(entries.map(entryKey))
  const mark = (entry: Entry): Entry => (keys.has(entryKey(entry)) ? { ...entry, ...marksOf(entry) } : entry)
  client.setQueryData<Listing>(
    queryKeys.listing(folder),
    listing => listing && { ...listing, pages: listing.pages.map(page => page.map(mark)) },
  )
}

/** Returns the topmost folders of all providers that the viewer may use; none if the viewer may not read. */
export function useProviders() {
  const { canRead } = usePermissions()
  return useQuery({
    queryKey: [...queryKeys.providers, 'files', canRead],
    queryFn: ({ signal }) => (canRead ? listProviders(signal) : []),
    staleTime: 30_000,
    // The status follows what the calls of everybody show.
    refetchInterval: 30_000,
  })
}
